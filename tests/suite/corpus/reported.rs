//! Faults that users of other readers reported, as far as this one had them.

use ragscope::corpus::Document;

use super::office::xlsx;

#[test]
fn a_mail_that_names_no_encoding_or_a_wrong_one_is_decoded() {
    let head = "From: a@b.c\nSubject: Bread\nMIME-Version: 1.0\n";
    let page = "<html><head><meta charset=3D\"iso-8859-1\"></head><body><p>S=F8ren k=F8ber br=F8d</p></body></html>";
    let labelled = |label: &str, body: &[u8]| {
        let head = format!("{head}Content-Type: text/plain; charset={label}\n\n");
        [head.as_bytes(), body].concat()
    };
    let utf8 = "Søren køber brød i den lille by.".as_bytes();
    let mails: [Vec<u8>; 6] = [
        labelled("us-ascii", utf8),
        labelled("ISO-8859-1", utf8),
        labelled("utf-8", b"S\xf8ren k\xf8ber br\xf8d i den lille by."),
        format!("{head}Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n{page}\n").into_bytes(),
        [head.as_bytes(), b"Content-Type: text/plain\n\nS\xf8ren k\xf8ber br\xf8d i den lille by.\n"].concat(),
        [
            head.as_bytes(),
            b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Transfer-Encoding: base64\nContent-Type: text/plain\n\nU/hyZW4ga/hiZXIgYnL4ZCBpIGRlbiBsaWxsZSBieS4=\n--x--\n",
        ]
        .concat(),
    ];
    for mail in mails {
        let document = Document::new("a.eml", mail).expect("a mail");
        let text = &document.text;
        assert!(text.contains("Søren køber brød"), "{text}");
    }
}

#[test]
fn hidden_rows_and_columns_are_named_in_the_report() {
    let row = |attributes: &str| {
        format!("<row r='1' {attributes}><c r='A1' t='str'><v>Dues</v></c></row>")
    };
    let note = |sheets: &[(&str, &str)]| {
        let document = Document::new("a.xlsx", xlsx(sheets)).expect("a workbook");
        document.note.unwrap_or_default()
    };
    let hidden = row("hidden='1'");
    let found = note(&[("Plain", &row("hidden='0'")), ("Quays", &hidden)]);
    assert_eq!(found, "hidden rows and columns are read, too, in Quays");
}
