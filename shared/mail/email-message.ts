import type { Language } from '#shared/schema/language.ts'

/** An email before rendering. Every field is plain text. */
export interface EmailMessage {
  readonly to: string
  readonly language: Language
  readonly subject: string
  readonly paragraphs: readonly string[]
  readonly action?: { readonly label: string; readonly url: string }
  readonly closing?: string
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')

/** Returns the text on one line. A line break would end the Subject header. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()

export const renderText = ({ paragraphs, action, closing }: EmailMessage): string =>
  [...paragraphs.map(oneLine), ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]), closing ?? '']
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')

export function renderHtml({ language, subject, paragraphs, action, closing }: EmailMessage): string {
  const body = [
    ...paragraphs.map((text) => `<p>${escape(oneLine(text))}</p>`),
    ...(action === undefined
      ? []
      : [`<p><a href="${escape(action.url)}">${escape(action.label)}</a></p>`, `<p>${escape(action.url)}</p>`]),
    ...(closing === undefined ? [] : [`<p>${escape(closing)}</p>`]),
  ]
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>${escape(oneLine(subject))}</title></head>
<body>
${body.join('\n')}
</body>
</html>
`
}
