import { SaxesParser } from 'saxes'

// A SOAP answer nests some eight deep. The parser looks a namespace up through all that is open, so depth costs squared.
const MAX_DEPTH = 32

export interface XmlElement {
  /** The namespace's URI, whatever prefix stood for it; '' for none. */
  readonly namespace: string
  readonly name: string
  /** The text directly in the element, entities and CDATA resolved. */
  readonly text: string
  readonly children: readonly XmlElement[]
}

/** XML that is not well formed, declares a document type, or nests too deep. Says nothing of what stood in it. */
export class XmlError extends Error {
  override name = 'XmlError'
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Escapes a text for use in an element or an attribute. Characters that XML has no form for must not be in it. */
export const escapeXml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character)

/**
 * Parses one XML document with namespaces and gives its root. Throws XmlError. A document type is refused at its first
 * character, so there are no entities but the five of XML itself and nothing can be expanded or fetched.
 */
export function parseXml(text: string): XmlElement {
  const document = { children: new Array<XmlElement>() }
  const open: { text: string; readonly children: XmlElement[] }[] = []
  const parser = new SaxesParser({ xmlns: true })
  const append = (more: string) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += more
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
    // The parser's own words quote the document.
    throw error instanceof XmlError ? error : new XmlError('The document is not well formed')
  }
  const [root] = document.children
  if (root === undefined) throw new XmlError('The document is empty')
  return root
}
