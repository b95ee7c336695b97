import { describe, expect, it } from 'vitest'
import { clientNetwork } from '#shared/rate-limit/limit.ts'

describe('clientNetwork', () => {
  it.each(['192.0.2.1', '0.0.0.0', '255.255.255.255'])('returns the whole IPv4 address: %s', (ip) => {
    expect(clientNetwork(ip)).toBe(ip)
  })

  it.each(['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:ffff:192.0.2.1', '::ffff:c000:0201'])(
    'returns the IPv4 address inside an IPv6-mapped address: %s',
    (ip) => {
      expect(clientNetwork(ip)).toBe('192.0.2.1')
    },
  )

  it('tells two IPv4 addresses apart, mapped into IPv6 as well', () => {
    expect(clientNetwork('::ffff:192.0.2.1')).not.toBe(clientNetwork('::ffff:192.0.2.2'))
    expect(clientNetwork('::ffff:c000:201')).not.toBe(clientNetwork('::ffff:c000:202'))
  })

  it.each([
    '2001:db8:1:2::',
    '2001:db8:1:2::1',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002:0000:0000:0000:0001',
    '2001:db8:1:2:3::',
    '2001:db8:1:2:0:0:0:5',
    '2001:db8:1:2::192.0.2.1',
    '2001:db8:1:2::1%eth0',
  ])('returns the /64 network of an IPv6 address in any spelling: %s', (ip) => {
    expect(clientNetwork(ip)).toBe('2001:db8:1:2::/64')
  })

  it.each([
    ['2001:db8::1', '2001:db8:0:0::1'],
    ['2001:db8::', '2001:0db8:0000:0000:ffff::'],
    ['::1', '0:0:0:0:0:0:0:1'],
    ['::1', '::2'],
    ['fe80::1', 'fe80:0:0:0:1::'],
    ['1:2:3:4::', '1:2:3:4:5:6:7:8'],
    ['2001:db8:0:1::', '2001:db8::1:0:0:0:0'],
  ])('returns the same network for %s and %s', (one, other) => {
    expect(clientNetwork(one)).toBe(clientNetwork(other))
  })

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['2001:db8:1:2::1', '2001:db8:1:20::1'],
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['2001:db8:1::', '2001:db8::1'],
    ['::1', '1::'],
    ['10.0.0.1', '::a00:1'],
  ])('returns different networks for %s and %s', (one, other) => {
    expect(clientNetwork(one)).not.toBe(clientNetwork(other))
  })

  it('returns a string for anything that a gateway reports', () => {
    for (const ip of ['', ':', '::', 'unknown', ':::::::::', '1:2:3:4:5:6:7:8:9:10', '%', 'a'.repeat(1000)]) {
      expect(clientNetwork(ip)).toBeTypeOf('string')
    }
  })
})
