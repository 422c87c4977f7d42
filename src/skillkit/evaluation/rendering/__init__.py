"""Reports for programs and people: JUnit XML, annotations, HTML."""
