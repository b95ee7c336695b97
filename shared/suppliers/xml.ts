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

/** Parses an XML document that arrives in parts. */
export interface XmlParser {
  /** Throws XmlError. */
  write(text: string): void
  /** Ends the document and returns its root. Throws XmlError. */
  end(): XmlElement
}

/**
 * Returns a parser of XML with namespaces. It rejects a document type declaration, so only XML's five predefined entities
 * exist, and nothing is expanded or fetched. `take` gets each element when it ends. An element that it takes, by returning
 * true, is no child of its parent: so a long document needs little memory.
 */
export function xmlParser(take: (element: XmlElement) => boolean = () => false): XmlParser {
  const document = { children: new Array<XmlElement>() }
  const open: { text: string; readonly namespace: string; readonly name: string; readonly children: XmlElement[] }[] =
    []
  const parser = new SaxesParser({ xmlns: true, position: false })
  const append = (part: string) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += part
  }
  parser.on('doctype', () => {
    throw new XmlError('The document declares a type')
  })
  parser.on('opentag', ({ uri, local }) => {
    if (open.length === MAX_DEPTH) throw new XmlError('The document nests too deep')
    open.push({ namespace: uri, name: local, text: '', children: new Array<XmlElement>() })
  })
  parser.on('closetag', () => {
    const element = open.pop()
    if (element !== undefined && !take(element)) (open.at(-1) ?? document).children.push(element)
  })
  parser.on('text', append)
  parser.on('cdata', append)
  const attempt = (work: () => void) => {
    try {
      work()
    } catch (error) {
      // The parser's own messages quote the document.
      throw error instanceof XmlError ? error : new XmlError('The document is not well formed')
    }
  }
  return {
    write: (text) => attempt(() => parser.write(text)),
    end: () => {
      attempt(() => parser.close())
      const [root] = document.children
      if (root === undefined) throw new XmlError('The document is empty')
      return root
    },
  }
}

/** Parses an XML document and returns its root. Throws XmlError. */
export function parseXml(text: string): XmlElement {
  const parser = xmlParser()
  parser.write(text)
  return parser.end()
}
