/* The widget's styles, as a constructed style sheet, to which no page's policy on inline styles applies.

   `all: initial` keeps the page's own styles out. Sizes are in pixels, because pages redefine rem. */

const TEXT = `
.root{
--sunken:light-dark(#f4f2ee,#282622);--line:light-dark(#e0dcd4,#3a3731);--edge:light-dark(#8d877c,#7d776c);
--soft:light-dark(#655f56,#aca69b);--warn:light-dark(#8a5a00,#e8bd6c);--mono:ui-monospace,monospace
}
*,*::before{box-sizing:border-box}
[hidden]{display:none !important}
p,pre,ul,ol,dl,dd,h3,fieldset{margin:0;padding:0;border:0;min-width:0}
button,input,select,textarea{font:inherit;color:inherit}
button:where(:not(.launcher)){cursor:pointer;padding:6px 13px;border:1px solid var(--edge);border-radius:8px;background:var(--paper)}
button:where(:not(.launcher)):hover{background:var(--sunken)}
:disabled{opacity:.5;cursor:default}
.stop:disabled{opacity:1}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
svg{display:block;width:22px;fill:none;stroke:currentcolor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.panel{display:flex;flex-direction:column;width:min(400px,calc(100vw - 32px - var(--place)*72px));height:min(608px,calc(100dvh - 104px));margin-bottom:13px;border:1px solid var(--line);border-radius:16px;background:var(--paper);color:var(--ink);box-shadow:0 10px 40px rgb(0 0 0 / 22%);overflow:hidden}
:host([inline]) .panel{width:auto;height:auto;min-height:0;margin:0;box-shadow:none}
.head{display:flex;align-items:center;gap:4px;padding:10px 10px 10px 16px;border-bottom:1px solid var(--line)}
.logo{max-width:110px;height:26px;object-fit:contain}
h2{flex:1;margin:0;font-size:16px;font-weight:650;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
button.icon{padding:6px;border-color:transparent;background:none;color:var(--soft)}
.alarms{flex:none;max-height:45%;padding:10px 11px 0;overflow-y:auto}
.alarm-list{display:grid;gap:8px}
.alarm{display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px;padding:10px 12px;border:1px solid var(--accent);border-radius:10px;background:color-mix(in srgb,var(--accent) 10%,var(--paper));color:var(--ink)}
.alarm>svg{flex:none;color:var(--accent)}
.alarm-text{display:flex;flex:1 1 60%;flex-wrap:wrap;align-items:baseline;gap:0 8px;min-width:0;overflow-wrap:anywhere}
.alarm-time{color:var(--soft);font-size:13px}
.inbox-notice{display:grid;gap:4px;max-height:30%;overflow-y:auto;padding:8px 12px;border-bottom:1px solid var(--line)}
.inbox-notice[hidden]{display:none}
.inbox-entry{display:grid;gap:1px;padding:6px 10px;border:0;border-radius:8px;background:var(--sunken);color:inherit;text-align:start}
.inbox-title{overflow:hidden;font-weight:600;text-overflow:ellipsis;white-space:nowrap}
.inbox-about{font-size:12px;color:var(--soft)}
.too-long{padding:7px 16px;color:var(--danger);font-size:14px}
.trouble{padding:7px 16px;background:var(--sunken);color:var(--soft);font-size:14px}
.scroller{flex:1;overflow-y:auto;padding:16px;overscroll-behavior:contain;overflow-anchor:none}
.jump-place{position:relative;height:0}
.jump{position:absolute;inset-block-end:9px;left:50%;translate:-50%;z-index:6;display:flex;align-items:center;gap:6px;width:max-content;max-width:90%;padding:5px 14px 5px 9px;border-color:var(--line);border-radius:99px;color:var(--soft);box-shadow:0 4px 18px rgb(0 0 0 / 18%);font-size:14px;font-weight:500}
.jump svg{width:16px}
.scroller:focus-visible{outline-offset:-2px}
.ai-notice{margin:0 0 12px;color:var(--soft);font-size:12px;text-align:center}
.welcome{display:grid;gap:10px;justify-items:start}
.welcome>p{margin-bottom:4px;font-size:19px;font-weight:600;line-height:1.35;text-wrap:balance}
.mark{display:grid;place-items:center;width:44px;height:44px;border-radius:50%;background:var(--fill);color:var(--on-accent)}
.talks{display:grid;align-content:start;gap:2px;flex:none;max-height:60%;padding:8px;border-bottom:1px solid var(--line);overflow-y:auto}
button.talk{display:flex;align-items:baseline;gap:10px;padding:8px 10px;border-color:transparent;text-align:start}
.talk[aria-current=true]{background:color-mix(in srgb,var(--accent) 12%,var(--paper))}
.talk-title{flex:1;min-width:0;text-align:-webkit-match-parent;text-align:match-parent;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.talk-time{flex:none;color:var(--soft);font-size:13px}
.talk-new{align-items:center !important;font-weight:550}
.talk-new svg{width:18px;color:var(--accent)}
.widen[aria-pressed=true]{color:var(--accent) !important}
:host(:not([inline])) .panel{animation:rise .16s ease-out}
@keyframes rise{from{translate:0 10px;opacity:0 }}
:host(:not([inline])) .wide .panel{width:min(760px,calc(100vw - 32px - var(--place)*72px));height:min(900px,calc(100dvh - 104px))}
@media (max-width:480px){.widen{display:none !important}}
.welcome button{color:var(--ink);text-align:start}
.log{display:grid;grid-template-columns:minmax(0,1fr);gap:16px;overflow-wrap:anywhere}
.user{display:grid;justify-items:end}
.bubble{max-width:88%;padding:8px 14px;border-radius:16px;border-end-end-radius:5px;background:color-mix(in srgb,var(--accent) 15%,var(--paper));white-space:pre-wrap;max-height:360px;overflow-y:auto}
.note,.remark,.host{color:var(--soft);font-size:14px}
.note:empty{display:none}
.question-tools{display:flex;align-items:center}
.versions{display:flex;align-items:center;color:var(--soft);font-size:13px}
.versions .step{width:28px;font-size:18px;line-height:1}
.working :is(.edit,.step){visibility:hidden}
.editing>:is(.bubble,.question-tools){display:none}
.edit-form{display:grid;gap:9px;width:100%}
.edit-form textarea{width:100%;min-height:76px;max-height:300px;padding:8px 11px;border:1px solid var(--edge);border-radius:10px;background:var(--paper);field-sizing:content;font-size:16px}
.edit-form .row{justify-content:flex-end}
.go-on{margin-inline-start:6px;padding:3px 10px}
.turn,.items{display:grid;grid-template-columns:minmax(0,1fr);gap:10px}
.icon-button{display:grid;place-items:center;width:32px;height:32px;padding:0;border-color:transparent;background:none;color:var(--soft)}
.icon-button svg{width:17px}
.icon-button[aria-pressed="true"],.icon-button.done{color:var(--accent)}
.icon-button[aria-pressed="true"] svg{fill:color-mix(in srgb,var(--accent) 25%,transparent)}
.actions{display:flex;flex-wrap:wrap;align-items:center;margin-inline-start:-8px}
.icon-button[aria-expanded="true"]{color:var(--accent)}
.why{margin-top:4px;color:var(--soft);font-size:13px}
.about{display:flex;flex-wrap:wrap;margin-inline-start:6px;color:var(--soft);font-size:13px}
.about>*+*::before{content:"·";margin-inline:6px}
.models{position:relative}
.models summary{list-style:none;cursor:pointer}
.models ul{position:absolute;z-index:5;inset-block:auto calc(100% + 4px);inset-inline:0 auto;display:grid;gap:2px;width:max-content;max-width:260px;padding:5px;border:1px solid var(--line);border-radius:10px;background:var(--paper);box-shadow:0 4px 18px rgb(0 0 0 / 18%);list-style:none}
.models ul button{width:100%;border-color:transparent;text-align:start}
.follow-ups{display:flex;flex-wrap:wrap;gap:7px}
.chip{border-radius:16px;text-align:start}
.comment{display:grid;gap:9px;margin-top:6px;padding:11px;border-radius:10px;background:var(--sunken)}
.row{display:flex;flex-wrap:wrap;gap:8px}
.cites{white-space:nowrap}
.cite{min-width:20px;height:20px;margin-inline-start:3px;padding:0 5px;border:0;border-radius:99px;background:color-mix(in srgb,var(--accent) 15%,var(--paper));color:var(--accent);font:600 12px/20px ui-sans-serif,system-ui,sans-serif;vertical-align:4px}
.sources{display:flex;flex-wrap:wrap;gap:6px;list-style:none}
.sources>li{max-width:100%}
.source{display:flex;align-items:center;gap:6px;max-width:100%;padding-block:2px;padding-inline:4px 11px;border-color:var(--line);border-radius:99px;font-size:13px}
.number{display:grid;flex:none;place-items:center;min-width:20px;height:20px;padding-inline:5px;border-radius:99px;background:color-mix(in srgb,var(--accent) 15%,var(--paper));color:var(--accent);font-weight:600;font-size:12px}
.name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.passage{display:grid;gap:7px;justify-items:start;padding:12px 14px;border-inline-start:3px solid var(--accent);border-radius:3px;background:var(--sunken);font-size:14px}
.passage-title{font-weight:650}
.where{color:var(--soft)}
.passage-text{white-space:pre-wrap;max-height:260px;overflow-y:auto}
.tool,.activity{border:1px solid var(--line);border-radius:10px;font-size:14px}
:is(.tool,.activity)>summary{display:flex;align-items:center;gap:8px;min-height:38px;padding:3px 11px;list-style:none;cursor:pointer}
summary::-webkit-details-marker{display:none}
.panel:has(textarea:focus) details:not([open])::details-content{display:none;content-visibility:visible}
:is(.tool,.activity)>summary svg{width:17px;color:var(--soft)}
:is(.tool,.activity)[open]>summary>svg{rotate:180deg}
.tool-name{flex:1;min-width:0;font-weight:550;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.activity>summary{flex-wrap:wrap}
.activity>summary>.tool-name{flex-basis:60%;white-space:normal}
.tool>summary>.tool-name{white-space:normal;overflow-wrap:break-word}
.tool-brief{display:none}
.tool-time{unicode-bidi:isolate;direction:ltr;color:var(--soft)}
.state{color:var(--soft);white-space:nowrap}
[data-state="ok"]>summary .sign svg{color:var(--accent)}
:is(.tool,.activity)[data-state="ok"]:not([data-nothing])>summary .state{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
:is([data-state="error"],[data-state="timeout"],[data-state="refused"])>summary :is(.state,.sign svg){color:var(--danger)}
:is([data-state="awaiting_approval"],[data-state="unknown"])>summary :is(.state,.sign svg){color:var(--warn)}
:is(.tool,.activity)[data-state="awaiting_approval"]{border-color:var(--warn)}
:is([data-state="running"],[data-state="preparing"])>summary>.sign>svg{animation:turn 1s linear infinite}
@keyframes turn{to{rotate:1turn }}
.activity-body{border-top:1px solid var(--line)}
.activity-body>.tool{border:0;border-radius:0}
.activity-body>.tool+.tool{border-top:1px solid var(--line)}
.tool-body{display:grid;grid-template-columns:minmax(0,1fr);gap:10px;padding:11px;border-top:1px solid var(--line)}
.tool-progress{display:flex;gap:9px;align-items:center;color:var(--soft)}
progress{flex:0 1 140px;min-width:60px;accent-color:var(--accent)}
h3{margin-bottom:3px;color:var(--soft);font-size:12px;font-weight:600}
.tool pre{max-height:260px;border-radius:8px;background:var(--sunken);white-space:pre-wrap}
dl{display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr);gap:3px 13px}
dt{color:var(--soft)}
dd{white-space:pre-wrap}
dd,td,.file-name,.file-about{text-align:-webkit-match-parent;text-align:match-parent}
ins{text-decoration:none;font-weight:600}
del{color:var(--soft)}
.tool .table{max-height:260px;overflow:auto}
.tool table{border-collapse:collapse;font-size:13px}
.tool :is(th,td){padding:4px 9px;border:1px solid var(--line);text-align:start}
.tool.asks>.tool-body>.tool-arguments{display:none}
.question{font-weight:600}
.fields{display:grid;gap:13px}
.field{display:grid;gap:5px;color:var(--soft);font-size:13px}
.field :is(input,select,textarea):not([type="radio"],[type="checkbox"]){width:100%;min-height:38px;padding:6px 10px;border:1px solid var(--edge);border-radius:8px;background:var(--paper);color:var(--ink);font-size:16px}
.field option{unicode-bidi:plaintext}
.field [aria-invalid="true"]{border-color:var(--danger)}
legend{padding:0;margin-bottom:5px}
.options{display:flex;flex-wrap:wrap;gap:6px}
.option{display:flex;align-items:center;gap:7px;min-height:36px;padding:3px 11px;border:1px solid var(--edge);border-radius:8px;background:var(--paper);color:var(--ink);font-size:14px;cursor:pointer}
.option:has(:checked){border-color:var(--accent)}
.option:has(:focus-visible){outline:2px solid var(--accent);outline-offset:1px}
.option input{margin:0;accent-color:var(--accent)}
.problem,.notice.error{display:block;color:var(--danger)}
.code-value{direction:ltr;font-family:var(--mono) !important}
.open:empty{display:none}
.closed:has(+.open:empty)>:last-child{margin-bottom:0}
:is(.closed,.open)>*{margin:0 0 .7em}
:is(.closed,.open) :is(h3,h4,h5,h6){margin:1em 0 .4em;color:inherit;font-size:1.05em;font-weight:700;line-height:1.3}
:is(.closed,.open) blockquote>blockquote:last-child{margin-bottom:0}
:is(.closed,.open) :is(ul,ol){padding-inline-start:1.4em}
:is(.closed,.open) li.task{margin-inline-start:-1.3em;list-style:none}
kbd{padding:1px 6px;border:1px solid var(--edge);border-radius:5px;background:var(--sunken);font-size:.85em}
:is(.closed,.open) details{padding:6px 12px;border:1px solid var(--line);border-radius:8px}
:is(.closed,.open) summary{font-weight:550;cursor:pointer}
:is(.closed,.open) blockquote{margin-inline:0;padding-inline-start:.9em;border-inline-start:3px solid var(--line);color:var(--soft)}
:is(.closed,.open) .table{overflow-x:auto}
:is(.closed,.open) table{width:max-content;min-width:100%;border-collapse:collapse;font-size:.93em}
:is(.closed,.open) :is(th,td){max-width:240px;padding:5px 10px;border:1px solid var(--line);text-align:-webkit-match-parent;text-align:match-parent;vertical-align:top;overflow-wrap:break-word}
:is(.closed,.open) th{white-space:nowrap}
:is(.closed,.open) .right{text-align:right}
:is(.closed,.open) .center{text-align:center}
.media{display:grid;gap:8px;justify-items:start}
.user>.media{justify-items:end;max-width:88%;margin-bottom:6px}
.media img{max-width:100%;border:1px solid var(--line);border-radius:8px}
:is(.closed,.open) :is(li,li>p,blockquote>p,th,td){unicode-bidi:plaintext}
code{unicode-bidi:isolate}
.formula.display{display:block;overflow-x:auto;overflow-y:clip;padding-block:.4em;text-align:center}
.formula:not(:has(math)){font:.92em var(--mono);white-space:pre-wrap}
math{direction:ltr;font-family:"Assistant Math",math;line-height:normal}
math.tml-display{display:block math}
math :is(.tml-right,.tml-left){text-align:-webkit-left}
math .tml-right{text-align:-webkit-right}
:is(mover,munder)>mo{box-shadow:0 0 0 40em transparent}
@supports (not (-webkit-backdrop-filter:blur(1px))) and (not (-moz-appearance:none)){
menclose{position:relative;padding:.5ex 0;print-color-adjust:exact}
.tml-overline{padding:.1em 0 0;border-top:.065em solid}
.tml-underline{padding:0 0 .1em;border-bottom:.065em solid}
.tml-fbox{padding:3pt;border:1px solid}
.tml-cancel{position:absolute;inset:0;display:inline-block;background:currentcolor}
.upstrike{clip-path:polygon(.05em 100%,0 calc(100% - .05em),calc(100% - .05em) 0,100% .05em)}
.downstrike{clip-path:polygon(0 .05em,.05em 0,100% calc(100% - .05em),calc(100% - .05em) 100%)}
}
.footnote{color:var(--soft);font-size:.9em}
sup{font-size:.75em;line-height:0}
.plain{white-space:pre-wrap}
.part{display:block}
a{color:var(--accent)}
code{font:.9em var(--mono)}
:not(pre)>code{padding:.1em .35em;border-radius:5px;background:var(--sunken)}
.code{border:1px solid var(--line);border-radius:8px;background:var(--sunken);overflow:clip}
.code-head{position:sticky;top:-16px;z-index:1;background:var(--sunken);display:flex;align-items:center;gap:4px;padding:3px 5px 3px 13px;border-bottom:1px solid var(--line);color:var(--soft);font:.8em var(--mono)}
.code-lang{margin-inline-end:auto}
.code[data-wrap] pre{white-space:pre-wrap;overflow-wrap:anywhere}
pre{padding:10px 13px;overflow-x:auto;font:.87em/1.5 var(--mono)}
.code :is(.hl-c,.hl-c1,.hl-cm,.hl-ch,.hl-cs,.hl-cpf){color:light-dark(#6d675c,#938c80);font-style:italic}
.code :is(.hl-k,.hl-kc,.hl-kd,.hl-kn,.hl-kp,.hl-kr,.hl-ow,.hl-nt,.hl-cp){color:light-dark(#8a3a8f,#d7a0dc)}
.code :is(.hl-kt,.hl-nc,.hl-ne,.hl-nn){color:light-dark(#92530b,#e6b673)}
.code :is(.hl-s,.hl-s1,.hl-s2,.hl-sa,.hl-sb,.hl-sc,.hl-sd,.hl-se,.hl-sh,.hl-si,.hl-sr,.hl-ss,.hl-sx,.hl-dl,.hl-gi){color:light-dark(#2c6b2f,#9bcf93)}
.code :is(.hl-m,.hl-mb,.hl-mf,.hl-mh,.hl-mi,.hl-mo,.hl-il,.hl-no){color:light-dark(#a3401b,#f0a581)}
.code :is(.hl-nf,.hl-fm,.hl-nd,.hl-nb,.hl-bp,.hl-na){color:light-dark(#1d5c9e,#8fbdee)}
.code .hl-gd{color:var(--danger)}
.code :is(.hl-gh,.hl-gu){font-weight:600}
.reasoning{color:var(--soft);font-size:14px}
.reasoning>summary{cursor:pointer}
.thoughts{margin-top:6px;padding-inline-start:12px;border-inline-start:2px solid var(--line);white-space:pre-wrap}
.copy,.wrap{padding:1px 8px;border-color:transparent;background:none;color:var(--soft);font-size:13px}
.wrap[aria-pressed="true"]{border-color:var(--line);color:var(--ink)}
.approval{display:grid;grid-template-columns:minmax(0,1fr);gap:11px}
.failure{display:flex;flex-wrap:wrap;gap:8px;align-items:center;padding:11px 14px;border:1px solid var(--line);border-radius:10px;background:var(--sunken)}
.failure>p{flex:1 1 100%}
.failure{border-color:var(--danger);color:var(--danger)}
.danger{border-color:transparent;background:var(--danger);color:light-dark(#fff,#2a0f0d)}
.primary{border-color:transparent;background:var(--fill);color:var(--on-accent)}
.primary:hover{background:color-mix(in srgb,var(--fill) 88%,#000)}
.queued{display:flex;flex-wrap:wrap;align-items:baseline;gap:8px;margin:0 11px 9px;padding:7px 12px;border:1px dashed var(--edge);border-radius:10px;font-size:13px}
.queued-label{flex:1 1 100%;color:var(--soft)}
.queued-text{flex:1;min-width:0;max-height:3em;overflow:hidden;overflow-wrap:anywhere;white-space:pre-line}
.link-button{flex:none;padding:0;border:0;background:none;color:var(--accent);text-decoration:underline}
.thinking{padding-top:10px;color:var(--soft);font-size:14px;animation:pulse 1.4s ease-in-out infinite}
@keyframes pulse{50%{opacity:.45 }}
.panel>form{display:flex;gap:8px;align-items:end;padding:11px;border-top:1px solid var(--line)}
textarea:placeholder-shown{direction:inherit}
::placeholder{color:var(--soft)}
.panel>form[data-dropping]{outline:2px dashed var(--accent);outline-offset:-4px}
.tray{display:flex;flex-wrap:wrap;gap:6px;max-height:30%;overflow-y:auto;margin:0;padding:8px 11px;border-top:1px solid var(--line);list-style:none}
.tray .file{display:grid;grid-template-columns:auto minmax(0,1fr) auto;align-items:center;gap:0 8px;max-width:100%;padding:4px;border:1px solid var(--edge);border-radius:10px;font-size:13px}
.tray .thumb{display:grid;place-items:center;width:36px;height:36px;overflow:hidden;border-radius:6px;background:color-mix(in srgb,var(--ink) 7%,transparent)}
.tray .thumb img{width:100%;height:100%;object-fit:cover}
.file-text{display:grid;min-width:0}
.file-name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.file-about{color:var(--soft);overflow-wrap:anywhere}
.tray [data-state="failed"] .file-about{color:var(--danger)}
.tray progress{grid-column:1/-1;order:4;width:100%;height:4px;accent-color:var(--accent)}
.tray :is([data-state="failed"],[data-state="done"]) progress{display:none}
.tray .remove{display:grid;place-items:center;width:30px;height:30px;padding:0;border:0;border-radius:50%;background:none}
.panel>form>textarea{flex:1;min-width:0;min-height:42px;max-height:144px;padding:8px 11px;border:1px solid var(--edge);border-radius:10px;background:var(--paper);resize:none;field-sizing:content;font-size:16px}
.panel>form>.icon{display:grid;place-items:center;width:42px;height:42px;border-radius:10px;background:var(--fill);color:var(--on-accent)}
.panel>form>.attach{background:none;color:var(--soft)}
.spoken{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media (max-width:480px){:host(:not([inline])) .panel{position:fixed;inset:0;width:100%;height:100%;margin:0;border:0;border-radius:0 }.root:has(>.launcher[aria-expanded=true]){z-index:2147483001 !important}.launcher[aria-expanded=true]{display:none}}
@media (prefers-reduced-motion:reduce){*{animation:none !important }}
`;

export const sheet = new CSSStyleSheet();
sheet.replaceSync(TEXT);
