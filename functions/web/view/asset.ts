import { createHash } from 'node:crypto'

/** A file that pages link. Its address has a hash of its content. */
export interface Asset {
  /** Its name without the hash: `style.css`. */
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly content: string
}

/** Returns the file `NAME.EXTENSION`. */
export function asset(name: string, extension: 'css' | 'svg' | 'js', contentType: string, content: string): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  return { name: `${name}.${extension}`, path: `/assets/${name}-${hash}.${extension}`, contentType, content }
}
