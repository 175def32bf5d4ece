/* The widget's looks, as a constructed style sheet: no page's policy on inline styles applies to it. */

const TEXT = `
:host {
color-scheme:light dark;display:block;position:fixed;inset:auto 1rem 1rem auto;z-index:2147483000;
font:400 15px/1.55 ui-sans-serif,system-ui,sans-serif;text-align:start;
--paper:light-dark(#fff,#1c1b19);--sunken:light-dark(#f4f2ee,#282622);--line:light-dark(#e0dcd4,#3a3731);
--edge:light-dark(#8d877c,#7d776c);--ink:light-dark(#24211d,#ece8e0);--soft:light-dark(#655f56,#aca69b);
--accent:var(--tenant-assistant-accent,light-dark(#0f6b5c,#63cdb8));--on-accent:var(--tenant-assistant-on-accent,light-dark(#fff,#10211d));
--danger:light-dark(#b3261e,#f2938b);--mono:ui-monospace,monospace
}
:host([hidden]){display:none}
:host([theme="light"]){color-scheme:light}
:host([theme="dark"]){color-scheme:dark}
:host([inline]){position:static;block-size:34rem}
*,*::before{box-sizing:border-box}
[hidden]{display:none !important}
p,pre,ul,ol{margin:0}
button,textarea{font:inherit;color:inherit}
button{cursor:pointer;padding:.35rem .8rem;border:1px solid var(--edge);border-radius:8px;background:var(--paper)}
button:hover{background:var(--sunken)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
svg{display:block;inline-size:1.35rem;fill:none;stroke:currentcolor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.launcher{display:grid;place-items:center;inline-size:3.5rem;block-size:3.5rem;margin-inline-start:auto;padding:0;border:0;border-radius:50%;background:var(--accent);color:var(--on-accent);box-shadow:0 4px 18px rgb(0 0 0 / 25%)}
.launcher:hover{background:color-mix(in srgb,var(--accent) 85%,var(--ink))}
.panel{display:flex;flex-direction:column;inline-size:min(25rem,calc(100vw - 2rem));block-size:min(38rem,calc(100dvh - 6.5rem));margin-block-end:.8rem;border:1px solid var(--line);border-radius:16px;background:var(--paper);color:var(--ink);box-shadow:0 10px 40px rgb(0 0 0 / 22%);overflow:hidden}
:host([inline]) .panel{inline-size:100%;block-size:100%;margin:0;box-shadow:none}
.head{display:flex;align-items:center;gap:.25rem;padding:.6rem .6rem .6rem 1rem;border-block-end:1px solid var(--line)}
h2{flex:1;margin:0;font-size:1rem;font-weight:650;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.icon{padding:.4rem;border-color:transparent;background:none;color:var(--soft)}
.trouble{padding:.45rem 1rem;background:var(--sunken);color:var(--soft);font-size:.87rem}
.scroller{flex:1;overflow-y:auto;padding:1rem;overscroll-behavior:contain}
.scroller:focus-visible{outline-offset:-2px}
.welcome{display:grid;gap:.6rem;color:var(--soft);justify-items:start}
.welcome button{color:var(--ink);text-align:start}
.log{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem;overflow-wrap:anywhere}
.user{display:grid;justify-items:end}
.bubble{max-inline-size:88%;padding:.5rem .85rem;border-radius:16px 16px 5px;background:color-mix(in srgb,var(--accent) 15%,var(--paper));white-space:pre-wrap}
.note,.remark,.tool,.host{color:var(--soft);font-size:.87rem}
.note:empty{display:none}
.turn{display:grid;grid-template-columns:minmax(0,1fr);gap:.6rem}
.open{white-space:pre-wrap}
.open:empty{display:none}
.closed>*{margin:0 0 .7em}
.closed :is(h3,h4,h5,h6){margin:1em 0 .4em;font-size:1.05em;line-height:1.3}
.closed :is(ul,ol){padding-inline-start:1.4em}
.closed blockquote{margin-inline:0;padding-inline-start:.9em;border-inline-start:3px solid var(--line);color:var(--soft)}
.closed .table{overflow-x:auto}
.closed table{border-collapse:collapse;font-size:.93em}
.closed :is(th,td){padding:.3rem .6rem;border:1px solid var(--line);text-align:start;vertical-align:top}
.closed :is(th,td).right{text-align:end}
.closed :is(th,td).center{text-align:center}
.media{display:grid;gap:.5rem;justify-items:start}
.media img{max-inline-size:100%;border:1px solid var(--line);border-radius:8px}
.plain{white-space:pre-wrap}
a{color:var(--accent)}
code{font:.9em var(--mono)}
:not(pre)>code{padding:.1em .35em;border-radius:5px;background:var(--sunken)}
.code{border:1px solid var(--line);border-radius:8px;background:var(--sunken);overflow:hidden}
.code-head{padding:.2rem .8rem;border-block-end:1px solid var(--line);color:var(--soft);font:.8em var(--mono)}
pre{padding:.6rem .8rem;overflow-x:auto;font:.87em/1.5 var(--mono)}
.approval,.failure{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;padding:.7rem .85rem;border:1px solid var(--line);border-radius:10px;background:var(--sunken)}
.approval>:is(p,pre),.failure>p{flex:1 1 100%}
.failure{border-color:var(--danger);color:var(--danger)}
.primary{border-color:transparent;background:var(--accent);color:var(--on-accent)}
.primary:hover{background:color-mix(in srgb,var(--accent) 85%,var(--ink))}
.thinking{padding-block-start:.6rem;color:var(--soft);font-size:.87rem;animation:pulse 1.4s ease-in-out infinite}
@keyframes pulse{50%{opacity:.45 }}
form{display:flex;gap:.5rem;align-items:end;padding:.7rem;border-block-start:1px solid var(--line)}
textarea{flex:1;min-inline-size:0;min-block-size:2.6rem;max-block-size:9rem;padding:.5rem .7rem;border:1px solid var(--edge);border-radius:10px;background:var(--paper);resize:none;field-sizing:content;font-size:1rem}
form .icon{display:grid;place-items:center;inline-size:2.6rem;block-size:2.6rem;border-radius:10px;background:var(--accent);color:var(--on-accent)}
.spoken{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media (max-width:480px){:host(:not([inline])) .panel{position:fixed;inset:0;inline-size:100%;block-size:100%;margin:0;border:0;border-radius:0 }}
@media (prefers-reduced-motion:reduce){*{animation:none !important }}
`;

export const sheet = new CSSStyleSheet();
sheet.replaceSync(TEXT);
