import { describe, expect, it, vi } from 'vitest'
import { parseConfig } from '#shared/base/config.ts'
import { log } from '#shared/base/log.ts'
import { RequestHeaders } from '#shared/http/headers.ts'
import { clientAddress } from '#shared/http/client-address.ts'
import { gatewayEvent } from '#tests/support/event.ts'

const { trustedProxies } = parseConfig({ TRUSTED_PROXIES: '203.0.113.0/24,198.51.100.7/32,2001:db8:1::/48' })

/** Returns the client's address of a request from `sourceIp` with these values of X-Forwarded-For. */
const addressOf = (sourceIp: string, values: readonly string[], name = 'X-Forwarded-For'): string => {
  const event = gatewayEvent({ route: 'GET /', sourceIp })
  return clientAddress(event, new RequestHeaders({ [name]: [...values] }), trustedProxies)
}

const PROXY = '203.0.113.5'

describe('clientAddress', () => {
  it.each([
    ['the address that API Gateway saw, from elsewhere', '192.0.2.1', ['10.1.1.1']],
    ['the address that API Gateway saw, from a neighbor of a proxy', '198.51.100.8', ['10.1.1.1']],
    ['the address that API Gateway saw, for a chain that ends in a proxy', '192.0.2.1', ['10.1.1.1, 203.0.113.5']],
    ['no address as it is', 'unknown', ['10.1.1.1']],
  ])('returns %s', (_, sourceIp, values) => {
    expect(addressOf(sourceIp, values)).toBe(sourceIp)
  })

  it.each([
    ['one address', ['10.1.1.1'], '10.1.1.1'],
    ['what API Gateway appends', ['10.1.1.1, 203.0.113.5'], '10.1.1.1'],
    ['more trusted proxies', ['10.1.1.1, 198.51.100.7,203.0.113.9, 203.0.113.5'], '10.1.1.1'],
    ['forged addresses on the left', ['127.0.0.1, 203.0.113.9, 10.1.1.1'], '10.1.1.1'],
    ['forged text on the left', ['<script>,, ,10.1.1.1'], '10.1.1.1'],
    ['several headers', ['10.9.9.9', '10.1.1.1', '203.0.113.5'], '10.1.1.1'],
    ['an IPv6 address in any spelling', ['2001:0DB8:0002:0::1'], '2001:db8:2::1'],
    ['an address with a port', ['10.9.9.9:1, 10.1.1.1:40711'], '10.1.1.1'],
    ['an address with the pseudonym of a port', ['10.1.1.1:_a.b-c'], '10.1.1.1'],
    ['IPv6 in brackets', ['[2001:db8:2::1]'], '2001:db8:2::1'],
    ['IPv6 in brackets with a port', ['[2001:DB8:2::1]:443'], '2001:db8:2::1'],
    ['the quotes of RFC 7239', ['for="[2001:db8:2::1]:4711", For=198.51.100.7'], '2001:db8:2::1'],
    ['trusted proxies with ports', ['10.1.1.1:9, 203.0.113.9:80, "[2001:db8:1::5]:443"'], '10.1.1.1'],
    ['trusted IPv6 proxies', ['10.1.1.1, 2001:db8:1:ff::1'], '10.1.1.1'],
    ['trusted proxies as IPv6-mapped addresses', ['10.1.1.1, ::ffff:203.0.113.9'], '10.1.1.1'],
  ])('returns the rightmost address that is no trusted proxy’s: %s', (_, values, client) => {
    for (const proxy of [PROXY, '198.51.100.7', '2001:db8:1::5', `::ffff:${PROXY}`])
      expect(addressOf(proxy, values), proxy).toBe(client)
    expect(addressOf(PROXY, values, 'x-forwarded-for')).toBe(client)
  })

  it.each([
    ['none', []],
    ['an empty one', ['']],
    ['only trusted addresses', ['203.0.113.9, 203.0.113.5']],
    ['text', ['10.1.1.1, unknown, 203.0.113.5']],
    ['an empty place', ['10.1.1.1, ']],
    ['a pseudonym', ['10.9.9.9, _hidden']],
    ['a port that is none', ['10.9.9.9, 10.1.1.1:http']],
    ['an open quote', ['10.9.9.9, "10.1.1.1']],
    ['IPv4 in brackets', ['10.9.9.9, [10.1.1.1]x']],
    ['a zone', ['10.9.9.9, fe80::1%eth0']],
    ['a leading zero', ['10.9.9.9, 010.1.1.1']],
    ['too few bytes', ['10.9.9.9, 10.1.1']],
    ['control characters', ['10.9.9.9, 10.1.1.1\u0000']],
    ['a block', ['10.9.9.9, 10.1.1.0/24']],
  ])('ignores a header without a valid address there: %s', (_, values) => {
    expect(addressOf(PROXY, values)).toBe(PROXY)
  })

  it('warns when a header of a trusted proxy names no client, and only then', () => {
    const warn = vi.spyOn(log, 'warn').mockImplementation(() => {})
    try {
      for (const silent of [['10.1.1.1:443'], ['203.0.113.9'], []]) addressOf(PROXY, silent)
      addressOf('192.0.2.1', ['unknown'])
      expect(warn).not.toHaveBeenCalled()
      for (const [index, loud] of [['unknown'], ['10.1.1.1, _x'], ['10.1.1.1:port']].entries()) {
        addressOf(PROXY, loud)
        expect(warn).toHaveBeenCalledTimes(index + 1)
      }
    } finally {
      warn.mockRestore()
    }
  })

  it('ignores two headers whose names differ in case, because their order is not known', () => {
    const event = gatewayEvent({ route: 'GET /', sourceIp: PROXY })
    const multiValueHeaders = { 'x-forwarded-for': ['10.1.1.1'], 'X-Forwarded-For': ['10.9.9.9'] }
    expect(clientAddress(event, new RequestHeaders(multiValueHeaders), trustedProxies)).toBe(PROXY)
  })

  it.each([
    '203.0.113.7',
    '203.0.113.7/33',
    '0.0.0.0/0',
    '::/0',
    '2001:db8::/129',
    'example.com/32',
    '10.0.0.0/8/8',
    '10.0.0.0/08',
    '10.0.0.0/8, 11.0.0.0/8',
    'fe80::1%eth0/64',
  ])('rejects the trusted proxies %s', (text) => {
    expect(() => parseConfig({ TRUSTED_PROXIES: text })).toThrow('TRUSTED_PROXIES must be CIDR blocks')
  })
})
