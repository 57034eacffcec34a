"""Parsing of XML that others wrote."""

from xml.etree import ElementTree as Xml

from quietcrowd.exceptions import FormatError


def parse_xml(content: str | bytes) -> Xml.Element:
    """Return the root element; raise ValueError if this is not XML or has a document type."""
    try:
        return Xml.fromstring(content, Xml.XMLParser(target=_Builder()))
    except (Xml.ParseError, LookupError) as error:
        raise ValueError(str(error)) from None


class _Builder(Xml.TreeBuilder):
    """A tree builder without document types, whose entities could expand without limit."""

    def doctype(self, *_: str | None) -> None:
        raise FormatError("formats.xml-doctype")
