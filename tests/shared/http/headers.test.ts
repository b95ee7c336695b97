import { expect, it } from 'vitest'
import { RequestHeaders } from '#shared/http/headers.ts'

const headers = new RequestHeaders({
  'X-Once': ['one'],
  'x-twice': ['first', 'second'],
  'X-Spelled': ['a', 'b'],
  'x-spelled': ['c'],
})

it('finds a header by its name in lower case, however it was spelled', () => {
  expect(headers.get('x-once')).toBe('one')
  expect(headers.get('X-Once')).toBeUndefined()
  expect(headers.get('x-absent')).toBeUndefined()
})

it('returns the last value of a repeated header, as API Gateway does', () => {
  expect(headers.get('x-twice')).toBe('second')
  expect(headers.get('x-spelled')).toBe('b')
})

it('returns every value of every spelling where one too many decides', () => {
  expect(headers.all('x-twice')).toEqual(['first', 'second'])
  expect(headers.all('x-spelled')).toEqual(['a', 'b', 'c'])
  expect(headers.all('x-absent')).toEqual([])
})

it('returns no values in order where two spellings have none', () => {
  expect(headers.inOrder('x-twice')).toEqual(['first', 'second'])
  expect(headers.inOrder('x-spelled')).toEqual([])
})

it.each([null, undefined, {}])('has no header when the event has none: %j', (sent) => {
  expect(new RequestHeaders(sent).all('x-once')).toEqual([])
})
