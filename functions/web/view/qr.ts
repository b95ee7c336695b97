import { encode } from 'uqr'
import { type Html, html } from '#web/http/html.ts'

/** ISO/IEC 18004 asks for a light margin of four modules. */
const MARGIN = 4

/** Returns a text as a QR code: one path of an SVG, black on white also in the dark, so that every app reads it. `label` names it. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: MARGIN })
  const path = data.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '1' : '0'))
        .join('')
        .matchAll(/1+/g),
    ].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`),
  )
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path.join('')}" fill="#000"/></svg>`
}
