import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_RESPONSE_BYTES } from '#shared/outbound/bounded-request.ts'
import { escapeXml, parseXml, XmlError } from '#shared/suppliers/xml.ts'

const fill = (part: string, around: readonly [string, string] = ['', '']) =>
  around[0] +
  part.repeat(Math.floor((MAX_RESPONSE_BYTES - around[0].length - around[1].length) / part.length)) +
  around[1]

describe('parseXml', () => {
  it('returns names with namespaces and text with entities and CDATA resolved', () => {
    expect(
      parseXml(
        '<?xml version="1.0"?><a xmlns="urn:1"><b:c xmlns:b="urn:2">1 &lt; <![CDATA[<2>]]>&#x33;</b:c><d xmlns=""/></a>',
      ),
    ).toEqual({
      namespace: 'urn:1',
      name: 'a',
      text: '',
      children: [
        { namespace: 'urn:2', name: 'c', text: '1 < <2>3', children: [] },
        { namespace: '', name: 'd', text: '', children: [] },
      ],
    })
  })

  it.for([
    '',
    'text',
    '<a>',
    '<a></b>',
    '<a><b></a></b>',
    '<a/><b/>',
    '<a>&nbsp;</a>',
    '<a b=1/>',
    '<x:a/>',
    '<a>\0</a>',
    '<br><p>',
    '<!DOCTYPE a><a/>',
    '<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><a/>',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    `<!DOCTYPE a [<!ENTITY b "${'x'.repeat(1000)}"><!ENTITY c "${'&b;'.repeat(1000)}">]><a>${'&c;'.repeat(1000)}</a>`,
  ])('rejects the document %j without quoting it', (text) => {
    let thrown: unknown
    try {
      parseXml(text)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(XmlError)
    expect(String(thrown)).toMatch(/^XmlError: The document (is not well formed|declares a type|is empty)$/)
    expect(Object.hasOwn(Object(thrown), 'cause')).toBe(false)
  })

  it('parses the worst documents of the maximum size without hanging', () => {
    const worst = [
      fill('<a>'),
      fill('<a xmlns="urn:1">'),
      fill('<a/>', ['<r>', '</r>']),
      fill('<a>', ['<!-- ', ' -->']),
      fill('&amp;', ['<r>', '</r>']),
      fill('x', ['<r>', '</r>']),
      fill('<![CDATA[x]]>', ['<r>', '</r>']),
      `<r ${Array.from({ length: 60_000 }, (_, index) => `xmlns:a${index}="u"`).join(' ')}/>`,
      `<r ${Array.from({ length: 100_000 }, (_, index) => `a${index}=""`).join(' ')}/>`,
      fill('&e;', ['<!DOCTYPE r [<!ENTITY e "eeee">]><r>', '</r>']),
    ]
    for (const text of worst) {
      expect(text.length).toBeLessThanOrEqual(MAX_RESPONSE_BYTES + 300_000)
      try {
        parseXml(text)
      } catch (error) {
        expect(error).toBeInstanceOf(XmlError)
      }
    }
  })

  it('reads escaped text back unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(parseXml(`<a>${escapeXml(text)}</a>`).text).toBe(text)
      }),
    )
  })
})
