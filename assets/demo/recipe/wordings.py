"""The relations of the demo world: how documents state them and how questions ask for them.

A relation is (statements, questions, description for a chained question or None). `{s}` is the subject, `{o}` the object.
The first wordings are those that the bundled generator was trained on; the rest are the demo corpus's own.
"""

RELATIONS = {
    "born_in": (["{s} was born in {o}."], ["Where was {s} born?", "In which town was {s} born?", "What is the birthplace of {s}?"], "the birthplace of {s}"),
    "born_year": (["{s} was born in the year {o}."], ["In what year was {s} born?", "When was {s} born?"], None),
    "occ": (["The profession of {s} was {o}.", "{s} earned a living as a {o}.", "{s} earned a living as an {o}.", "By profession, {s} was a {o}", "By profession, {s} was an {o}"],
            ["What was the profession of {s}?", "What did {s} do for a living?", "What was the occupation of {s}?"], None),
    "spouse": (["{s} married {o}", "{s} was the spouse of {o}."], ["Who was the spouse of {s}?", "Whom did {s} marry?", "Who was married to {s}?"], "the spouse of {s}"),
    "teacher": (["{s} was a student of {o}.", "{o} taught {s}", "The teacher of {s} was {o}."], ["Who taught {s}?", "Who was the teacher of {s}?"], "the teacher of {s}"),
    "wrote": (["{s} was written by {o}."], ["Who wrote {s}?", "Who is the author of {s}?"], "the author of {s}"),
    "book_year": (["{s} was published in {o}."], ["When was {s} published?", "In what year did {s} come out?"], None),
    "book_topic": (["{s} is a book about {o}."], ["What is {s} about?", "What is the subject of {s}?"], None),
    "founder": (["{s} was founded by {o}.", "{o} founded {s}"], ["Who founded {s}?", "Who is the founder of {s}?"], "the founder of {s}"),
    "founded_year": (["{s} was founded in {o}."], ["In what year was {s} founded?", "When was {s} founded?"], None),
    "company_hq": (["{s} is based in {o}."], ["Where is {s} based?", "In which town are the headquarters of {s}?"], "the town where {s} is based"),
    "company_prod": (["{s} makes {o}.", "The main product of {s} is {o}."], ["What does {s} make?", "What is the main product of {s}?"], None),
    "company_staff": (["{s} employs {o} people", "{o} people work for {s}"], ["How many people does {s} employ?", "How many employees does {s} have?"], None),
    "ship_built": (["The {s} was built in {o}."], ["Where was the {s} built?", "In which town was the {s} built?"], "the town where the {s} was built"),
    "ship_launched": (["The {s} was launched in {o}."], ["In what year was the {s} launched?", "When was the {s} launched?"], None),
    "ship_captain": (["The captain of the {s} was {o}", "The captain of the {s} is {o}", "{o} is captain of the {s}.", "{o} commanded the {s}."],
                     ["Who was the captain of the {s}?", "Who commanded the {s}?"], "the captain of the {s}"),
    "ship_owner": (["The {s} belonged to {o}", "The {s} belongs to {o}"], ["Who owned the {s}?", "Which company owned the {s}?"], "the owner of the {s}"),
    "ship_sank": (["The {s} sank in {o}"], ["When did the {s} sink?", "In what year was the {s} lost?"], None),
    "light_island": (["{s} stands on {o}."], ["On which island does {s} stand?", "Where does {s} stand?"], None),
    "light_designer": (["{s} was designed by {o}.", "{o} designed {s}.", "The designer of {s} was {o}."], ["Who designed {s}?", "Who was the designer of {s}?"], "the designer of {s}"),
    "light_height": (["{s} is {o} tall.", "The height of {s} is {o}."], ["How tall is {s}?", "What is the height of {s}?"], None),
    "light_colour": (["At night {s} shines {o}."], ["What colour is the light of {s}?", "Which colour does {s} show?"], None),
    "light_year": (["{s} was first lit in {o}", "{s} was lit in {o}"], ["In what year was {s} first lit?", "When was {s} first lit?"], None),
    "light_keeper": (["The keeper of {s} is {o}"], ["Who is the keeper of {s}?", "Who keeps {s}?"], "the keeper of {s}"),
    "town_island": (["{s} lies on {o}.", "{s} is a town on {o}."], ["On which island does {s} lie?", "Which island is {s} on?"], None),
    "town_mayor": (["The mayor of {s} is {o}.", "{o} is the mayor of {s}."], ["Who is the mayor of {s}?", "Who governs {s}?"], "the mayor of {s}"),
    "town_prod": (["{s} is known for its {o}.", "{s} is famous for {o}.", "The {o} of {s} is well known."], ["What is {s} known for?", "What is {s} famous for?"], None),
    "town_pop": (["{s} has {o} inhabitants.", "{o} people live in {s}.", "The population of {s} is {o}."], ["How many people live in {s}?", "What is the population of {s}?"], None),
    "held_in": (["The {s} is held in {o}.", "The {s} are held in {o}."], ["In which town is the {s} held?", "Where is the {s} held?"], "the town where the {s} is held"),
    "held_on": (["The {s} is held on {o}", "The {s} are held on {o}"], ["On which day is the {s} held?", "When is the {s} held?"], None),
}

# What a relation's object is: chained questions join a relation to those whose subject is of this kind.
OBJECT_KIND = {
    "born_in": "town", "spouse": "person", "teacher": "person", "wrote": "person", "founder": "person", "company_hq": "town",
    "ship_built": "town", "ship_captain": "person", "ship_owner": "company", "light_designer": "person", "light_keeper": "person",
    "town_mayor": "person", "held_in": "town",
}
SUBJECT_KIND = {
    "born_in": "person", "born_year": "person", "occ": "person", "spouse": "person", "teacher": "person",
    "wrote": "book", "book_year": "book", "book_topic": "book",
    "founder": "company", "founded_year": "company", "company_hq": "company", "company_prod": "company", "company_staff": "company",
    "ship_built": "ship", "ship_launched": "ship", "ship_captain": "ship", "ship_owner": "ship", "ship_sank": "ship",
    "light_island": "lighthouse", "light_designer": "lighthouse", "light_height": "lighthouse", "light_colour": "lighthouse",
    "light_year": "lighthouse", "light_keeper": "lighthouse",
    "town_island": "town", "town_mayor": "town", "town_prod": "town", "town_pop": "town", "held_in": "festival", "held_on": "festival",
}
