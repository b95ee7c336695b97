import { expect, it } from 'vitest'
import { addressesIn } from '#web/pages/members/addresses.ts'

it.each([
  ['a@x.test', ['a@x.test']],
  ['a@x.test,b@x.test;c@x.test\r\nd@x.test\n\n', ['a@x.test', 'b@x.test', 'c@x.test', 'd@x.test']],
  ['Ann Archer <a@x.test>, <b@x.test>', ['a@x.test', 'b@x.test']],
  ['"Roe, Bob" <b@x.test>; Doe, Jane <j@x.test>', ['b@x.test', 'j@x.test']],
  ['Ann <a@x.test> Bob <b@x.test>', ['a@x.test', 'b@x.test']],
  ['a@x.test b@x.test\tc@x.test', ['a@x.test', 'b@x.test', 'c@x.test']],
  ['A@x.test, a@X.test', ['A@x.test']],
  ['<mailto:a@x.test>, mailto:b@x.test', ['a@x.test', 'b@x.test']],
  ['not an address, a@x.test', ['not an address', 'a@x.test']],
  [' ,; \n', []],
  ['', []],
])('finds the addresses in %j', (text, addresses) => {
  expect(addressesIn(text)).toEqual(addresses)
})
