from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.datasets.corpus import read_corpus
from ragauge.errors import BadData, BadRow


def _folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_folder_of_many_forms(tmp_path: Path) -> None:
    """Text has the name of its file, Markdown title and heading, rows their own; order is by name."""
    rows = [{"text": "Row one.", "title": "R", "id": "r7"}, {"content": "Row two.", "year": 1931}]
    folder = _folder(
        tmp_path,
        a_md="# Tea\nHot.\n## Green\nPale.",
        sub__b_txt="Plain text.",
        z_jsonl="\n".join(map(json.dumps, rows)),
    )
    corpus = read_corpus(folder)
    assert [(one.id, one.title, one.text) for one in corpus.passages] == [
        ("a.md#1", "Tea", "Hot."),
        ("a.md#2", "Tea – Green", "Pale."),
        ("sub/b.txt#1", "b", "Plain text."),
        ("r7", "R", "Row one."),
        ("z.jsonl#2", "", "Row two."),
    ]
    assert corpus.passages[-1].metadata == {"year": 1931}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("---\ntitle: Cards\ntags:\n- a\n---\n# Tea\nHot.", ["Hot."]),
        ("---\nHot, not: cold.\n\n---\nPale.", ["---\nHot, not: cold.\n\n---\nPale."]),
        ("---\nNote well.\ntitle: Cards\n---\nPale.", ["---\nNote well.\ntitle: Cards\n---\nPale."]),
        ("---\ntitle: Cards\nHot.", ["---\ntitle: Cards\nHot."]),
    ],
)
def test_front_matter_is_no_passage(text: str, kept: list[str], tmp_path: Path) -> None:
    """YAML keys between two rulers at the top of Markdown are left out; other texts between rulers are kept."""
    assert [chunk.text for chunk in read_corpus(_folder(tmp_path, a_md=text)).passages] == kept


def test_parquet_rows_are_documents(tmp_path: Path) -> None:
    """A Parquet file of texts is a corpus; a row longer than a passage is cut, and its pieces are numbered."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["x"], "text": ["One two. Three four."]}), tmp_path / "c.parquet")
    corpus = read_corpus(tmp_path / "c.parquet", words=2)
    assert [(one.id, one.text) for one in corpus.passages] == [("x#1", "One two."), ("x#2", "Three four.")]


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    """Files of other kinds and empty files are counted by kind; hidden ones are passed over."""
    corpus = read_corpus(_folder(tmp_path, a_txt="Text.", b_zip="PK", c_png="x", d_txt="", hidden__e_txt="Text."))
    assert corpus.skipped == {".zip": 1, ".png": 1, "empty": 1}
    (tmp_path / "hidden").rename(tmp_path / ".hidden")
    assert len(read_corpus(tmp_path).passages) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", b"PK", "not a corpus; give a folder, or a file of"),
        ("a.pdf", b"%PDF", "not a PDF that can be read"),
        ("a.txt", b"PK\x00\xff\x00", "not text but binary"),
        ("a.txt", b"caf\xe9", "not UTF-8: byte 0xe9 at offset 3"),
        ("a.txt", b" \n", "no text in 1 file"),
        ("a.jsonl", b'{"text": "a"}\n{"name": "b"}', "row 2: has no text among 'name'; give its text under 'text'"),
        ("a.jsonl", b"{broken", "row 1: line 1 is not JSON"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    """A file or row without text ends in an error that names it and says how to fix it."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadData, match=message.replace("(", r"\(")):
        read_corpus(path)


def test_an_empty_folder_is_no_corpus(tmp_path: Path) -> None:
    """A folder without text is an error, not a corpus in which nothing is found."""
    with pytest.raises(BadData, match=r"put \.txt, \.md, \.jsonl or \.parquet files there"):
        read_corpus(tmp_path)
    assert issubclass(BadRow, BadData)


def test_bad_files_and_rows_are_skipped_on_request(tmp_path: Path) -> None:
    """A file that is not UTF-8 and an odd row end the reading, or are left out with their errors recorded."""
    folder = _folder(tmp_path, b_jsonl='{"text": "Good."}\n{"name": "odd"}\n{broken\n{"text": "Fine."}', c_txt="Well.")
    (folder / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(BadData, match=r"a\.txt: not UTF-8"):
        read_corpus(folder)
    corpus = read_corpus(folder, skip_bad=True)
    assert [passage.text for passage in corpus.passages] == ["Good.", "Fine.", "Well."]
    assert [message.partition(": ")[0].rpartition("/")[2] for message in corpus.bad] == [
        "a.txt",
        "b.jsonl, row 2",
        "b.jsonl, row 3",
    ]
    with pytest.raises(BadData, match=r"no text in 1 file; .*not UTF-8"):
        read_corpus(folder / "a.txt", skip_bad=True)


def test_pyserini_s_documents(tmp_path: Path) -> None:
    """Pyserini keeps the text under `contents`."""
    corpus = read_corpus(_folder(tmp_path, c_jsonl='{"id": "doc7", "contents": "Tea is hot."}') / "c.jsonl")
    assert [(passage.id, passage.text) for passage in corpus.passages] == [("doc7", "Tea is hot.")]


def _pdf(path: Path, *pages: str) -> None:
    """A PDF with a line of text on each page, or pages without any."""
    pypdf = pytest.importorskip("pypdf")
    generic = pypdf.generic
    writer = pypdf.PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    as_names = generic.DictionaryObject(
        {generic.NameObject(key): generic.NameObject(name) for key, name in font.items()}
    )
    for text in pages:
        page = writer.add_blank_page(595, 842)
        if text:
            stream = generic.DecodedStreamObject()
            stream.set_data(f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode())
            fonts = generic.DictionaryObject({generic.NameObject("/F1"): writer._add_object(as_names)})
            page[generic.NameObject("/Resources")] = generic.DictionaryObject({generic.NameObject("/Font"): fonts})
            page[generic.NameObject("/Contents")] = writer._add_object(stream)
    writer.write(path)


def test_pages_of_the_web_keep_headings_and_tables(tmp_path: Path) -> None:
    """Of HTML the content is read as Markdown: headings make titles, tables stay tables, menus and scripts go."""
    pytest.importorskip("markdownify")
    page = (
        "<html><head><title>Ferry</title><style>p {}</style></head><body><nav>Menu</nav><h2>Fares</h2><p>A <b>day</b> "
        "ticket. See <a href='x'>here</a>.</p><table><tr><th>to</th><th>price</th></tr><tr><td>Isle</td><td>4_5</td>"
        "</tr></table><script>track()</script><h3>Bikes</h3><p>Free.</p></body></html>"
    )
    corpus = read_corpus(_folder(tmp_path, ferry_html=page))
    assert [(one.id, one.title) for one in corpus.passages] == [
        ("ferry.html#1", "Ferry – Fares"),
        ("ferry.html#2", "Ferry – Fares – Bikes"),
    ]
    text = corpus.passages[0].text
    assert "A **day** ticket. See here." in text
    assert "| Isle | 4_5 |" in text
    assert "Menu" not in text
    assert "track" not in text


def test_pages_of_a_pdf_are_numbered(tmp_path: Path) -> None:
    """Each passage of a PDF knows its page, and a PDF without text is counted, or said to be all that there is."""
    _pdf(tmp_path / "a.pdf", "The lamp is lit.", "", "The keeper sleeps.")
    _pdf(tmp_path / "scan.pdf", "")
    corpus = read_corpus(tmp_path)
    assert [(one.text, one.metadata["page"]) for one in corpus.passages] == [
        ("The lamp is lit.", 1),
        ("The keeper sleeps.", 3),
    ]
    assert corpus.skipped == {".pdf without text, which takes text recognition first": 1}
    with pytest.raises(BadData, match=r"no text in 1 file; .*without text, which takes text recognition"):
        read_corpus(tmp_path / "scan.pdf")


def test_repeated_passages_are_left_out_and_large_corpora_drawn_from(tmp_path: Path) -> None:
    """Of equal passages the first is kept; beyond a number of passages a draw by the seed is held, in order."""
    folder = _folder(tmp_path, a_txt="Same text.", b_txt="Same  text.", c_txt="Other text.")
    corpus = read_corpus(folder)
    assert [one.id for one in corpus.passages] == ["a.txt#1", "c.txt#1"]
    assert (corpus.total, corpus.repeated, corpus.is_whole) == (2, 1, True)
    (folder / "d.txt").write_text(" ".join(f"One{n} two." for n in range(500)))
    drawn = [read_corpus(folder, words=2, most=20, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].passages != drawn[2].passages
    assert (len(drawn[0].passages), drawn[0].total, drawn[0].is_whole) == (20, 502, False)
    numbers = [int(one.id.partition("#")[2]) for one in drawn[0].passages if one.id.startswith("d")]
    assert numbers == sorted(numbers)
