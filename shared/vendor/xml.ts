import { SaxesParser } from 'saxes'

// A SOAP response nests about eight levels. Each namespace lookup walks all open elements: the cost grows quadratically.
const MAX_DEPTH = 32

export interface XmlElement {
  /** The namespace's URI, independent of the prefix; '' for none. */
  readonly namespace: string
  readonly name: string
  /** The text directly in the element, entities and CDATA resolved. */
  readonly text: string
  readonly children: readonly XmlElement[]
}

/** The XML is not well formed, declares a document type or nests too deep. The message quotes nothing from it. */
export class XmlError extends Error {
  override name = 'XmlError'
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Escapes a text for an element or an attribute. Requires a text that XML 1.0 can represent. */
export const escapeXml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character)

/**
 * Parses an XML document with namespaces and returns its root. Throws XmlError. It rejects a document type declaration,
 * so only XML's five predefined entities exist, and nothing is expanded or fetched.
 */
export function parseXml(text: string): XmlElement {
  const document = { children: new Array<XmlElement>() }
  const open: { text: string; readonly children: XmlElement[] }[] = []
  const parser = new SaxesParser({ xmlns: true })
  const append = (part: string) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += part
  }
  parser.on('doctype', () => {
    throw new XmlError('The document declares a type')
  })
  parser.on('opentag', ({ uri, local }) => {
    if (open.length === MAX_DEPTH) throw new XmlError('The document nests too deep')
    const element = { namespace: uri, name: local, text: '', children: new Array<XmlElement>() }
    const parent = open.at(-1) ?? document
    parent.children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => void open.pop())
  parser.on('text', append)
  parser.on('cdata', append)
  try {
    parser.write(text).close()
  } catch (error) {
    // The parser's own messages quote the document.
    throw error instanceof XmlError ? error : new XmlError('The document is not well formed')
  }
  const [root] = document.children
  if (root === undefined) throw new XmlError('The document is empty')
  return root
}
