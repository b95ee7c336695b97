import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { searchVendors } from '#shared/suppliers/vendor-queries.ts'

const example = (text: string) => v.pipe(v.string(), v.examples([text]))

export const listVendors = endpoint({
  route: 'GET /v1/vendors',
  access: { permission: 'vendor.manage' },
  summary: 'The vendors whose accounts can be connected, by name',
  reply: v.object({ data: v.array(v.object({ code: example('ss-activewear'), name: example('S&S Activewear') })) }),
  async handle({ sql }) {
    return ok({ data: await searchVendors(sql) })
  },
})
