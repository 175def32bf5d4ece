"""The text of PDFs, scans, Word, Excel and PowerPoint files and HTML pages, read in processes with limits."""
