import { expect, it } from 'vitest'
import { ownSettings } from '#infra/aws/own-settings.ts'

it('gives a stage its own settings, and refuses a name that no setting has and one of the stack', () => {
  const own = (settings: Record<string, string>) => ownSettings({ settings }, ['WEB_BASE_URL'])
  expect(own({ INVITE_TENANT_LIMIT: '500' })).toEqual({ INVITE_TENANT_LIMIT: '500' })
  expect(() => own({ INVITE_TENANTS_LIMIT: '500' })).toThrow(/no such setting/)
  expect(() => own({ WEB_BASE_URL: 'https://shop.test' })).toThrow(/comes from the stack/)
})
