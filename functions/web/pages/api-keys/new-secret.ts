import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import {
  afterDays,
  type ApiKey,
  chosenOf,
  keysPath,
  Lifetime,
  May,
  NewLifetime,
  Overlap,
  readKey,
  readLiveKey,
} from '#web/pages/api-keys/key.ts'

// The response to these forms is the only page that shows a secret. Nothing keeps it, so a second press cannot show it again: it changes
// nothing, and leads to where the person makes another secret.

const views = () => import('#web/pages/api-keys/secret-views.ts')

/** The time within which a key of the same name and permissions is the work of the same form. */
const SAME_FORM_MS = 600_000

export const newKey = page({
  route: 'GET /s/{slug}/api-keys/new',
  access: { permission: 'member.manage' },
  handle: async (context) => (await views()).newKeyView(context),
})

export const createKey = page({
  route: 'POST /s/{slug}/api-keys',
  access: { permission: 'member.manage' },
  stepUp: 'POST /v1/api-keys',
  formAt: '/s/{slug}/api-keys/new',
  form: v.looseObject({ name: v.string(), days: Lifetime, ...May }),
  fieldOf: { 'key-exists': 'name' },
  ownTexts: ({ apiKeys: t }) => ({ permissions: { required: t.chooseOne, unknown: t.notGiven } }),
  async handle(context) {
    const { params, form, call, session } = context
    const body = { name: form.name, permissions: chosenOf(form), expires_at: afterDays(form.days) }
    try {
      const made = await call('POST /v1/api-keys', { body })
      return (await views()).secretView(context, made)
    } catch (error) {
      if (!(error instanceof ProblemError) || error.kind !== 'key-exists') throw error
      const { data } = await call('GET /v1/api-keys', { query: { status: 'live', created_by: session.user.id } })
      const made = data.find((key) => isOfSameForm(key, body))
      if (made === undefined) throw error
      return redirect(keysPath(params.slug, `/${made.id}/rotate`), {
        notice: 'key-created-before',
        about: { key: made.name },
      })
    }
  },
  again: async (context) => (await views()).newKeyView(context),
})

const isOfSameForm = (key: ApiKey, { name, permissions }: { name: string; permissions: readonly string[] }): boolean =>
  key.name === name.trim() &&
  key.permissions.join() === permissions.join() &&
  Date.now() - Date.parse(key.created_at) < SAME_FORM_MS

export const askRotation = page({
  route: 'GET /s/{slug}/api-keys/{id}/rotate',
  access: { permission: 'member.manage' },
  query: NoticeQuery,
  load: ({ call, params }) => readLiveKey(call, params.id),
  handle: async (context) => (await views()).rotationView(context, context.data),
})

/** `replaces` says which secret the person saw: a second press replaces no other. */
export const rotateKey = page({
  route: 'POST /s/{slug}/api-keys/{id}/rotate',
  access: { permission: 'member.manage' },
  stepUp: 'POST /v1/api-keys/{id}/rotate',
  form: v.object({ replaces: v.string(), overlap: Overlap, days: NewLifetime }),
  async handle(context) {
    const { params, form, call } = context
    const { id } = params
    const body = {
      overlap_seconds: Number(form.overlap),
      expires_at: afterDays(form.days),
      replaces: form.replaces,
    }
    try {
      return (await views()).secretView(context, await call('POST /v1/api-keys/{id}/rotate', { params: { id }, body }))
    } catch (error) {
      if (!(error instanceof ProblemError) || error.kind !== 'key-rotated') throw error
      const { name } = await readKey(call, id)
      return redirect(keysPath(params.slug, `/${id}/rotate`), { notice: 'key-rotated-before', about: { key: name } })
    }
  },
  again: async (context) => (await views()).rotationView(context, await readKey(context.call, context.params.id)),
})
