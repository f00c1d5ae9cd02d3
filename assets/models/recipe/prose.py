"""Sentences that no question asks about, between the facts as in real documents."""

SENTENCES = """
The tea is better in the afternoon.
Nobody remembers who painted the door.
A cat sleeps on the warm step and moves for no one.
Visitors are asked to close the gate behind them.
The old people say that it was colder once.
It rains there more often than the guide admits.
The stairs are steep and the handrail is loose.
Every spring the children plant beans along the wall.
What it lacks in comfort it makes up in noise.
The roof has been mended so often that little of the first one is left.
Some say the story is true, others that it is only good.
The bread is baked before four and gone by seven.
From the window one can see three chimneys and a great deal of sky.
There is a bench outside, which is always wet.
The clock was right twice a day until it was repaired.
Letters took eleven days then, and nobody hurried.
The wind comes from the west and stays for supper.
No one has been able to explain the smell.
The garden is small but it is full of bees.
In winter the road is closed and people are glad of it.
It was sold twice and came back both times.
The paint is fresh, because the committee came to visit.
A good dinner can be had for very little.
The best seats are near the stove.
The keys hang where everyone can find them.
People still argue about it on market days.
The map in the hall is wrong in two places.
He wrote home every Sunday and seldom said much.
She kept a parrot that knew only one word.
The last of the apples are picked after the first frost.
Not much has changed since then, except the price.
The river is slow and brown and full of fish.
The archive holds forty boxes of receipts.
It is quiet on weekdays and loud when the boats come in.
Half of the money went on the opening dinner.
The work took longer than anyone had promised.
Dogs are welcome, and so are their owners.
The library closes at noon.
The musicians practise in the cellar, where they cannot be heard.
Two of the windows do not open.
""".strip().splitlines()

TAILS = """
and was proud of it
as the plaque by the door says
although few people know it
which surprised nobody
as the register shows
much to the delight of the neighbours
and everyone agrees on that at least
if the records can be trusted
to general applause
after a long debate
which is still talked about
and the bill has been kept
""".strip().splitlines()
