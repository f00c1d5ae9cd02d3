//! Writes small PDFs, sound and broken ones.

/// Returns a PDF of these objects, the first of which is the catalog.
pub fn of_objects(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(objects) {
        offsets.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }

    let table = file.len();
    let count = objects.len() + 1;
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    file.extend(
        format!("trailer\n<</Size {count}/Root 1 0 R/Info 2 0 R>>\nstartxref\n{table}\n%%EOF")
            .bytes(),
    );
    file
}

/// Returns a stream; `entries` go into its dictionary.
pub fn stream(content: &[u8], entries: &str) -> Vec<u8> {
    let mut object = format!("<</Length {}{entries}>>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

/// Returns a PDF with these lines on each page: the first at the top, the others as a paragraph
/// below.
pub fn of_pages(pages: &[&[&str]]) -> Vec<u8> {
    of_pages_with(pages, &Extras::default())
}

/// The parts of a PDF beside the lines on its pages.
#[derive(Default)]
pub struct Extras<'a> {
    /// Entries of the catalog, of each page, and of the resources of each page.
    pub catalog: &'a str,
    pub page: &'a str,
    pub resources: &'a str,
    /// Objects, numbered behind the four of the file and the two of each page.
    pub objects: Vec<Vec<u8>>,
}

/// Returns a PDF as [`of_pages`] does, with these extras.
pub fn of_pages_with(pages: &[&[&str]], extras: &Extras<'_>) -> Vec<u8> {
    let contents: Vec<Vec<u8>> = pages.iter().map(|lines| content(lines)).collect();
    of_contents(&contents, "", extras)
}

/// Returns a PDF of one page whose content is compressed.
pub fn packed(content: &[u8]) -> Vec<u8> {
    of_contents(
        &[content.to_vec()],
        "/Filter/FlateDecode",
        &Extras::default(),
    )
}

/// Returns a page's drawing of these lines.
pub fn content(lines: &[&str]) -> Vec<u8> {
    let heights = std::iter::once(760).chain((0..).map(|line| 680 - 14 * line));
    let line =
        |(text, height): (&&str, i32)| format!("BT /F 12 Tf 72 {height} Td ({text}) Tj ET\n");
    let content: String = lines.iter().zip(heights).map(line).collect();
    content.into_bytes()
}

fn of_contents(contents: &[Vec<u8>], entries: &str, extras: &Extras<'_>) -> Vec<u8> {
    let Extras {
        catalog,
        page,
        resources,
        objects: others,
    } = extras;
    let kids: Vec<String> = (0..contents.len())
        .map(|at| format!("{} 0 R", 5 + at * 2))
        .collect();
    let mut objects = vec![
        format!("<</Type/Catalog/Pages 3 0 R{catalog}>>").into_bytes(),
        b"<</Title(Harbour report)/Author(Ann Oakes)/CreationDate(D:20240131090000Z)>>".to_vec(),
        format!(
            "<</Type/Pages/Kids[{}]/Count {}>>",
            kids.join(" "),
            contents.len()
        )
        .into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
    ];
    for (at, content) in contents.iter().enumerate() {
        let drawing = 6 + at * 2;
        objects.push(
            format!(
                "<</Type/Page/Parent 3 0 R/MediaBox[0 0 600 800]/Contents {drawing} 0 R\
                 /Resources<</Font<</F 4 0 R>>{resources}>>{page}>>"
            )
            .into_bytes(),
        );
        objects.push(stream(content, entries));
    }
    objects.extend(others.iter().cloned());
    of_objects(&objects)
}

/// Returns a page that is a picture, a JPEG file by its name.
pub fn scanned() -> Vec<u8> {
    of_objects(&[
        b"<</Type/Catalog/Pages 3 0 R>>".to_vec(),
        b"<<>>".to_vec(),
        b"<</Type/Pages/Kids[4 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 3 0 R/MediaBox[0 0 600 800]/Contents 5 0 R\
          /Resources<</XObject<</X 6 0 R>>>>>>"
            .to_vec(),
        stream(b"q 600 0 0 800 0 0 cm /X Do Q", ""),
        stream(
            b"Berth nine is let.",
            "/Type/XObject/Subtype/Image/Width 200/Height 200/Filter/DCTDecode",
        ),
    ])
}
