import { asset } from '#web/view/asset.ts'

/** The only style sheet. Light and dark, system fonts, from 320 px. */
export const STYLE = `:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--ink:#1b1f27;--quiet:#56606f;--line:#cfd5de;--main:#2346a8;--main-ink:#fff;--bad:#a8231f;--bad-ground:#fdf0ef;--good:#1a6135;--good-ground:#eaf6ee;--warn:#7a4a00;--warn-ground:#fdf3e1;--focus:#2346a8}
@media screen and (prefers-color-scheme:dark){:root{--ground:#12151b;--card:#1b1f27;--ink:#eceff4;--quiet:#a7b0be;--line:#3b4350;--main:#8fb0ff;--main-ink:#0d1526;--bad:#ff9f98;--bad-ground:#351a1a;--good:#86d6a3;--good-ground:#142a1d;--warn:#f2c078;--warn-ground:#2f2412;--focus:#ffd166}}
*,::before,::after{box-sizing:border-box}
html{font:100%/1.5 system-ui,sans-serif;background:var(--ground);color:var(--ink);-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 1.25rem}
h2{font-size:1.2rem;line-height:1.3;margin:1.75rem 0 .5rem}
p{margin:0 0 1rem}
a{color:var(--main);text-underline-offset:.15em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:3px}
main:focus,.summary:focus{outline:none}
.skip{position:absolute;left:-999rem;background:var(--card);padding:.75rem 1rem;z-index:1}
.skip:focus{left:.5rem;top:.5rem}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.quiet,.hint{color:var(--quiet)}
.top{background:var(--card);border-bottom:1px solid var(--line)}
.bar,.tabs ul,main,.foot{max-width:60rem;width:100%;margin:0 auto;padding-inline:1rem}
.bar{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:center;justify-content:space-between;min-height:3.5rem;padding-block:.5rem}
.brand img{height:2rem;width:auto;vertical-align:middle;margin-right:.35rem}
.brand{font-weight:700;font-size:1.15rem;color:var(--ink);text-decoration:none;overflow-wrap:break-word;max-width:60%}
.who{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;justify-content:flex-end;margin-left:auto}
.shop{font-weight:600}
.menu{display:none}
.menu summary{font-weight:600;cursor:pointer;min-height:2.75rem;display:flex;align-items:center;justify-content:flex-end;gap:.5rem}
.menu summary::after{content:"▾"}
.menu[open] summary::after{content:"▴"}
.tabs ul{list-style:none;margin-block:0;display:flex;flex-wrap:wrap;gap:0 1.25rem}
.tabs a{display:inline-block;padding:.5rem 0;text-decoration:none}
.tabs a[aria-current]{font-weight:600;border-bottom:3px solid currentcolor}
main{flex:1;padding-block:2rem 3rem}
.bottom{border-top:1px solid var(--line)}
.foot{padding-block:1rem 1.5rem;display:flex;flex-wrap:wrap;gap:.25rem 2rem;justify-content:space-between;align-items:center}
.languages,.about{display:flex;gap:.25rem 1rem;flex-wrap:wrap;align-items:center}
.about{list-style:none;margin:0;padding:0;color:var(--quiet)}
.notice,.banner,.summary,.empty,.card{border:1px solid var(--line);border-radius:.5rem;background:var(--card);padding:1rem 1.25rem;margin:0 0 1.5rem}
.banner{border-left:.35rem solid var(--warn);background:var(--warn-ground)}
.notice{border-left:.35rem solid var(--good);background:var(--good-ground)}
.refused{border-left-color:var(--bad);background:var(--bad-ground)}
ul.notice{padding-left:2.25rem}
.summary{border:2px solid var(--bad);background:var(--bad-ground)}
.summary h2{margin-top:0}
.summary a,.error{color:var(--bad)}
.summary ul{margin:0;padding-left:1.25rem}
.empty{text-align:center;padding:2.5rem 1.25rem}
.empty h2{margin-top:0}
.card>:last-child,.empty>:last-child,.prose>:last-child{margin-bottom:0}
.prose{max-width:40rem;margin-bottom:1.5rem}
.cards{list-style:none;padding:0;margin:0;display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(16rem,100%),1fr))}
.cards .card{margin:0}
.cards h2,.cards h3{margin:0 0 .25rem}
.choices{list-style:none;padding:0;margin:0 0 1.5rem;display:grid;gap:.5rem}
button.choice,a.choice{display:flex;flex-wrap:wrap;gap:.1rem 1rem;align-items:center;width:100%;min-height:3.25rem;padding:.5rem 1rem;text-align:left;font-weight:400;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:.5rem;text-decoration:none}
.choice strong{flex:1 1 12rem}
.choices .choice:hover{border-color:var(--main);text-decoration:none}
.choices .choice:hover strong{text-decoration:underline}
.scroll{position:relative;overflow-x:auto;margin:0 0 1.5rem}
.scroll table{margin:0}
.matrix td{text-align:center}
.matrix thead th:not(:first-child){text-align:center}
.matrix tbody th::first-letter{text-transform:uppercase}
.matrix .no{color:var(--quiet)}
.abilities{columns:15rem;margin:0 0 1.5rem;padding-left:1.25rem}
.abilities li::first-letter{text-transform:uppercase}
.form{max-width:30rem;margin-bottom:1.5rem}
.field{margin:0 0 1.25rem}
.field.invalid{border-left:4px solid var(--bad);padding-left:.75rem}
label{display:block;font-weight:600;margin-bottom:.25rem}
label .quiet{font-weight:400}
.hint,.error{margin:0 0 .35rem}
.error{font-weight:600}
input,select,textarea,button{font:inherit;color:inherit}
[hidden]{display:none!important}
.proof{margin-bottom:1.25rem}
.proof [data-passkey]{margin:.75rem 0 1.25rem}
input:not([type=hidden],[type=checkbox],[type=radio],[type=button]),select,textarea{width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--quiet);border-radius:.375rem;background:var(--card)}
.form [role=status]{margin:.5rem 0 0;color:var(--quiet)}
[aria-busy]{cursor:progress}
.masked{-webkit-text-security:disc}
[aria-invalid]{border:2px solid var(--bad)!important}
button,.button{display:inline-block;min-height:2.75rem;padding:.5rem 1.1rem;border:1px solid var(--main);border-radius:.375rem;background:var(--main);color:var(--main-ink);font-weight:600;cursor:pointer;text-decoration:none}
button:hover,.button:hover{text-decoration:underline}
button.plain{background:transparent;color:var(--main);min-height:2.25rem;padding:.25rem .75rem}
.filters button.plain{min-height:2.75rem;background:var(--card)}
button.danger{background:var(--bad);border-color:var(--bad);color:var(--card)}
button.link{border:0;background:none;padding:.25rem;min-height:1.5rem;color:var(--main);font-weight:400;text-decoration:underline}
.languages button{margin-left:-.25rem}
button.link[aria-current]{color:var(--ink);font-weight:600;text-decoration:none}
.action{display:inline-block;margin:0}
.actions{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center}
td .actions>*{white-space:nowrap}
label.choice{display:flex;gap:.5rem;align-items:baseline;font-weight:400;min-height:2rem}
label.radio{display:flex;gap:.6rem;align-items:baseline;padding:.5rem 0;margin:0}
label .careful{display:block;font-weight:400}
.careful{color:var(--warn)}
label.radio .hint{display:block;font-weight:400}
.button.show{background:transparent;color:var(--main);min-height:2.25rem;padding:.25rem .75rem;margin-top:.35rem}
fieldset{border:1px solid var(--line);border-radius:.5rem;padding:.75rem 1rem}
legend{font-weight:600;padding:0 .35rem}
.filters{display:flex;flex-wrap:wrap;gap:.75rem 1rem;align-items:end;margin:0 0 1.5rem}
.filter{flex:1 1 9rem;max-width:18rem}
.sentences{list-style:none;padding:0;margin:0}
.sentences>li{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1.5rem;border-top:1px solid var(--line);padding:.75rem 0}
.sentences>li>div{flex:1 1 20rem}
.sentences p{margin:0}
.sentences ul{list-style:none;padding:0;margin:.15rem 0 0;font-size:.925rem}
.sentences time{flex:0 0 auto;color:var(--quiet)}
.badge{display:inline-block;white-space:nowrap;padding:0 .5rem;border:1px solid currentcolor;border-radius:1rem;font-size:.875rem}
.badge.good{color:var(--good);background:var(--good-ground)}
.badge.warn{color:var(--warn);background:var(--warn-ground)}
.badge.bad{color:var(--bad);background:var(--bad-ground)}
.progress{max-width:30rem}
progress{display:block;width:100%;height:1rem;accent-color:var(--main)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.25rem;margin:0 0 1.5rem}
dt{color:var(--quiet)}
dd{margin:0}
table{width:100%;margin:0 0 1.5rem;border-collapse:collapse;background:var(--card);border:1px solid var(--line);border-radius:.5rem}
th,td{text-align:left;vertical-align:top;padding:.65rem .75rem;border-top:1px solid var(--line)}
thead th{color:var(--quiet);font-weight:600;border-top:0}
thead th,td{overflow-wrap:break-word}
td:not(:has(.actions)){max-width:14rem}
td>time{white-space:nowrap}
tbody th{font-weight:600;min-width:12rem}
td>details table{margin:.5rem 0 0}
.below td{border-top:0;padding-top:0;max-width:none!important}
td>p{max-width:16rem}
tbody th .quiet{display:block;font-weight:400}
.qr{display:block;width:100%;max-width:15rem;height:auto;margin:0 0 1rem;border-radius:.5rem}
.codes{columns:2 16rem;margin:0 0 1.5rem}
.whole{-webkit-user-select:all;user-select:all}
.codes code,.key{font-size:1.05rem;overflow-wrap:anywhere}
.paper{display:none}
.paging ul{list-style:none;display:flex;gap:1.25rem;padding:0;margin:1rem 0 0}
@media (max-width:54rem){
table,tbody,tr,th,td,caption{display:block}
.wide{display:none}
.menu{display:block;flex:1 1 auto;min-width:0}
.menu[open]{flex-basis:100%}
.menu .tabs ul,.menu .who{flex-direction:column;align-items:flex-start;gap:0;margin:0;padding:0}
.menu .tabs a,.menu .who a{display:block;padding:.6rem 0}
.menu .who{border-top:1px solid var(--line);padding-block:.5rem}
.menu .shop{display:none}
.bar{flex-wrap:nowrap;padding-block:.25rem}
.bar:has(.menu[open]){flex-wrap:wrap}
.filter,.filters button{flex:1 1 100%;max-width:none}
.filter:has([type=date]){flex-basis:8.5rem}
label.radio:not(:has(:checked)) .hint{display:none}
td:empty{display:none}
.matrix td{display:inline;padding:0}
.matrix td.no,.matrix td>[aria-hidden]{display:none}
.matrix td[data-label]::before{content:attr(data-label);color:var(--ink)}
.matrix td.yes~td.yes::before{content:" · " attr(data-label)}
.matrix tr{padding:.5rem .75rem}
.matrix tbody th{padding:0;min-width:0}
tr:first-child{border-top:0}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tr{padding:.5rem 0;border-top:1px solid var(--line)}
tr.below{border-top:0;padding-top:0}
th,td,td:not(:has(.actions)){border:0;min-width:0;max-width:none;padding:.25rem .75rem;overflow-wrap:anywhere}
td[data-label]::before{content:attr(data-label) ": ";color:var(--quiet)}
td[data-label]:has(.action,.actions)::before{content:none}
dl{grid-template-columns:1fr;gap:0}
dd{margin-bottom:.5rem}
}
@media (prefers-reduced-motion:no-preference){a,button{transition:background-color .1s}}
@media print{:root{color-scheme:light;--ground:#fff}.top,.bottom,.banner,.filters,.paging,.screen,button,.button{display:none}.paper{display:inline}p.paper{display:block}h2{break-after:avoid}li,tr{break-inside:avoid}}
`

/** The icon of the front end. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2346a8"/><path d="M8 9h16v4h-6v11h-4V13H8z" fill="#fff"/></svg>\n`

export const STYLE_SHEET = asset('style', 'css', 'text/css; charset=utf-8', STYLE)
export const ICON_FILE = asset('icon', 'svg', 'image/svg+xml', ICON)
