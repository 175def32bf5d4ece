"""Google Gemini's generateContent, through the `google-genai` package."""
