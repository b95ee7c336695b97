import type { Language } from '#shared/schema/language.ts'

/** An email before rendering. Every field is plain text. */
export interface EmailMessage {
  readonly to: string
  readonly language: Language
  readonly subject: string
  /** The name of the platform that writes. */
  readonly platform: string
  /** Null where the recipient has no account, or no name. */
  readonly greeting: string | null
  readonly paragraphs: readonly string[]
  readonly action?: { readonly label: string; readonly url: string; readonly fallback: string }
  readonly closing?: string
  /** Who writes to whom, and where to get help: below a line. */
  readonly foot: readonly { readonly text: string; readonly url?: string }[]
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')

/** Returns the text on one line. A line break would end the Subject header. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()

/** Returns the plain text. It says what the HTML says, in the same order. */
export function renderText({ platform, greeting, paragraphs, action, closing, foot }: EmailMessage): string {
  const parts = [
    platform,
    ...[greeting, ...paragraphs].filter((text) => text !== null).map(oneLine),
    ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]),
    ...(closing === undefined ? [] : [oneLine(closing)]),
    // Mail programs know the signature by this line (RFC 3676, section 4.3).
    ['-- ', ...foot.map(({ text, url }) => (url === undefined ? oneLine(text) : `${oneLine(text)}: ${url}`))].join(
      '\n',
    ),
  ]
  return `${parts.join('\n\n')}\n`
}

// Many mail programs ignore style sheets, so each element has its light colors itself. Those that know a dark scheme know this sheet.
const DARK = `:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){.ground{background:#12151b!important;color:#eceff4!important}.card{background:#1b1f27!important;border-color:#3b4350!important}.quiet{color:#a7b0be!important}.ground a{color:#8fb0ff!important}.ground a.button{background:#8fb0ff!important;color:#0d1526!important}}`

const styled = (tag: 'p' | 'div', style: string, content: string, name = ''): string =>
  `<${tag}${name === '' ? '' : ` class="${name}"`} style="${style}">${content}</${tag}>`

const link = (url: string, text: string): string => `<a href="${escape(url)}">${escape(text)}</a>`

// 12 px, a line of 20 px and 12 px: at least as high as a finger is wide (WCAG 2.5.5).
const BUTTON =
  'display:inline-block;padding:12px 20px;line-height:20px;border-radius:6px;background:#2346a8;color:#ffffff;font-weight:600;text-decoration:none'

const PARAGRAPH = 'margin:0 0 16px'
const QUIET = 'margin:0 0 8px;color:#56606f;font-size:14px;line-height:20px'

/** Returns the HTML. It loads nothing, and fits a window of 320 px. */
export function renderHtml({ language, subject, ...email }: EmailMessage): string {
  const { platform, greeting, paragraphs, action, closing, foot } = email
  const text = (content: string) => styled('p', PARAGRAPH, escape(oneLine(content)))
  const body = [
    styled('p', 'margin:0 0 20px;font-size:18px;font-weight:700', escape(oneLine(platform))),
    ...(greeting === null ? [] : [text(greeting)]),
    ...paragraphs.map(text),
    ...(action === undefined
      ? []
      : [
          styled(
            'p',
            'margin:24px 0',
            `<a href="${escape(action.url)}" class="button" style="${BUTTON}">${escape(action.label)}</a>`,
          ),
          styled('p', QUIET, `${escape(action.fallback)}<br>${link(action.url, action.url)}`, 'quiet'),
        ]),
    ...(closing === undefined ? [] : [styled('p', 'margin:16px 0 0', escape(oneLine(closing)))]),
  ]
  const below = foot.map(({ text: words, url }) =>
    styled('p', QUIET, url === undefined ? escape(oneLine(words)) : link(url, oneLine(words)), 'quiet'),
  )
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escape(oneLine(subject))}</title>
<style>
${DARK}
</style>
</head>
<body class="ground" style="margin:0;padding:16px;background:#f6f7f9;color:#1b1f27;font:16px/24px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;overflow-wrap:anywhere;word-break:break-word">
${styled('div', 'max-width:560px;margin:0 auto;padding:24px 20px;box-sizing:border-box;background:#ffffff;border:1px solid #cfd5de;border-radius:8px', `\n${body.join('\n')}\n`, 'card')}
${styled('div', 'max-width:560px;margin:16px auto 0;padding:0 20px;box-sizing:border-box', `\n${below.join('\n')}\n`)}
</body>
</html>
`
}
