import { describe, expect, it } from 'vitest'
import { type Effects, type Found, judge } from './judge.ts'
import type { Line, Responded, Sent } from './ledger.ts'
import { growthOf, summarize } from './summary.ts'

const ONCE: Effects = { row: 1, audit: 1, event: 1, job: 1 }
const SCENARIO = 'Postgres is killed'

/** A request and its response, which follows after ten milliseconds. */
function request(id: string, sent: Partial<Sent> = {}, responded: Partial<Responded> = {}): Line[] {
  const at = sent.at ?? 0
  return [
    { what: 'sent', id, at, kind: 'deal', tenant: 1, scenario: SCENARIO, ...sent },
    { what: 'response', id, at: at + 10, status: 200, foreign: [], ...responded },
  ]
}
const found = (effects: Record<string, Partial<Effects>>, more: Partial<Found> = {}): Found => ({
  effects: new Map(Object.entries(effects).map(([id, each]) => [id, { ...ONCE, ...each }])),
  alive: new Set(),
  contradictions: [],
  ...more,
})
const faults = (lines: readonly Line[], state: Found) => judge(lines, state).map(({ fault, id }) => [fault, id])

const CODE = { kind: 'finish', proof: 'p' } as const
const STEP_UP = { kind: 'step-up', proof: 'p', target: 's', session: 't', ends: ['t'] } as const
const CHECK = { kind: 'check', session: 't' } as const
const NONE = { row: 0, audit: 0, event: 0, job: 0 }

describe('the judge of the ledger', () => {
  it('finds nothing where the acknowledged is there once, and the refused at most once', () => {
    const lines = [
      ...request('done'),
      ...request('failed', {}, { status: 503 }),
      ...request('cut-off', {}, { status: null }),
      ...request('never-answered').slice(0, 1),
      ...request('late', { kind: 'sync' }, { status: 409 }),
      ...request('first', { kind: 'tenant' }, { status: null }),
      ...request('again', { kind: 'tenant', repeats: 'first' }, { status: 412 }),
    ]
    expect(judge(lines, found({ done: {}, 'cut-off': {}, first: {} }))).toEqual([])
  })

  it.for([
    ['lost', 'an acknowledged write that is not there', request('a'), found({})],
    ['doubled', 'a write that is there twice', request('a'), found({ a: { row: 2, audit: 2, event: 2 } })],
    [
      'doubled',
      'an unanswered write that is there twice',
      request('a', {}, { status: null }),
      found({ a: { row: 2 } }),
    ],
    [
      'doubled',
      'a write that took effect again when it was repeated',
      [...request('a', { kind: 'quote' }, { status: 503 }), ...request('b', { kind: 'quote', repeats: 'a' })],
      found({ a: {}, b: { row: 0 } }),
    ],
    ['doubled', 'an invitation with two links', request('a', { kind: 'invite' }), found({ a: { links: 2 } })],
    ['partial', 'a write without its audit entry', request('a'), found({ a: { audit: 0, event: 0 } })],
    ['partial', 'an audit entry without its event', request('a', {}, { status: null }), found({ a: { event: 0 } })],
    ['partial', 'an invitation without its job', request('a', { kind: 'invite' }), found({ a: { job: 0 } })],
    [
      'partial',
      'a mail of an invitation that is not there',
      request('a', { kind: 'invite' }, { status: 503 }),
      found({ a: { ...NONE, links: 1 } }),
    ],
    ['foreign', 'a row of another tenant', request('a', { kind: 'list' }, { foreign: ['led-t2'] }), found({})],
    [
      'refused but done',
      'a refused write that is there',
      request('a', { kind: 'sync' }, { status: 409 }),
      found({ a: {} }),
    ],
    [
      'undelivered',
      'an invitation that was never mailed',
      request('a', { kind: 'invite' }),
      found({ a: { links: 0 } }),
    ],
    ['undelivered', 'an event that the bus never got', request('a'), found({ a: { unpublished: 1 } })],
    ['wrong status', 'a live session that is refused', request('a', { kind: 'check' }, { status: 401 }), found({})],
    ['wrong status', 'a failure that is not the gateway’s', request('a', {}, { status: 500 }), found({})],
    [
      'resurrected',
      'a session that serves a request after its end',
      [
        ...request('end', { kind: 'sign-out', ends: ['s'] }, { status: 204 }),
        ...request('a', { kind: 'check', session: 's', at: 20 }),
      ],
      found({ end: {} }),
    ],
    [
      'doubled',
      'a code that was accepted twice',
      [...request('first', CODE), ...request('a', CODE)],
      found({ first: {}, a: {} }),
    ],
    [
      'doubled',
      'a code that was accepted again after its response was lost',
      [...request('first', CODE, { status: null }), ...request('a', CODE)],
      found({ first: {}, a: {} }),
    ],
    [
      'doubled',
      'a recovery code that signed in and stepped up',
      [...request('first', { ...CODE, kind: 'recover' }, { status: 503 }), ...request('a', STEP_UP)],
      found({ first: {}, a: {} }, { alive: new Set(['s']) }),
    ],
    [
      'lost',
      'a code that was used up and proved nothing',
      [...request('first', CODE, { status: 502 }), ...request('a', CODE, { status: 422 })],
      found({}),
    ],
    ['lost', 'a sign-in that was acknowledged and has no session with a second factor', request('a', CODE), found({})],
    ['refused but done', 'a session of a refused code', request('a', CODE, { status: 422 }), found({ a: {} })],
    [
      'wrong status',
      'a code that is refused and was never sent before',
      request('a', CODE, { status: 422 }),
      found({}),
    ],
    [
      'wrong status',
      'a right password that is refused',
      request('a', { kind: 'password' }, { status: 401 }),
      found({}),
    ],
    [
      'resurrected',
      'a token that serves a request after the response with the new one',
      [...request('first', STEP_UP), ...request('a', { ...CHECK, at: 20 })],
      found({ first: {} }, { alive: new Set(['s']) }),
    ],
    [
      'resurrected',
      'a token that serves a request after a step-up whose response was lost',
      [...request('first', STEP_UP, { status: null }), ...request('a', { ...CHECK, at: 20_020 })],
      found({ first: {} }, { alive: new Set(['s']) }),
    ],
    [
      'wrong status',
      'a token that a step-up ended and that got no new one',
      [...request('first', STEP_UP, { status: 503 }), ...request('a', CHECK, { status: 401 })],
      found({}, { alive: new Set(['s']) }),
    ],
    [
      'lost',
      'a session that a step-up without a response ended',
      request('a', STEP_UP, { status: null }),
      found({ a: {} }),
    ],
  ] as const)('names as %s %s', ([fault, , lines, state]) => {
    expect(faults(lines, state)).toContainEqual([fault, 'a'])
  })

  it('finds nothing where a code counts once and is refused afterwards, also when its first response was lost', () => {
    const lines = [
      ...request('done', CODE),
      ...request('refused', CODE, { status: 422 }),
      ...request('lost', { ...CODE, proof: 'q' }, { status: null }),
      ...request('again', { ...CODE, proof: 'q' }, { status: 400 }),
      ...request('failed', { ...STEP_UP, proof: 'r' }, { status: 502 }),
      ...request('repaired', { ...CODE, proof: 'r' }),
    ]
    expect(judge(lines, found({ done: {}, lost: {}, repaired: {} }, { alive: new Set(['s']) }))).toEqual([])
  })

  it('accepts either response of a token while its step-up has no response, and the one that fits afterwards', () => {
    const alive = new Set(['s'])
    const checks = [...request('a', CHECK), ...request('b', CHECK, { status: 401 })]
    const lines = [...request('step', STEP_UP, { status: null }), ...checks]
    expect(faults(lines, found({ step: {} }, { alive }))).toEqual([])
    const late = request('late', { ...CHECK, at: 30_000 }, { status: 401 })
    expect(faults([...lines, ...late], found({ step: {} }, { alive }))).toEqual([])
  })

  it('names a session that is alive in the database after its end was acknowledged', () => {
    const lines = request('end', { kind: 'sign-out', ends: ['s'] }, { status: 204 })
    expect(faults(lines, found({ end: {} }, { alive: new Set(['s']) }))).toEqual([['resurrected', 's']])
  })

  it('accepts either response of a session whose end is not yet acknowledged', () => {
    const lines = [
      ...request('a', { kind: 'check', session: 's', at: 5 }),
      ...request('b', { kind: 'check', session: 's', at: 5 }, { status: 401 }),
      ...request('end', { kind: 'sign-out', ends: ['s'] }, { status: 204 }),
    ]
    expect(faults(lines, found({ end: {} }))).toEqual([])
  })

  it('counts the requests of a scenario and the seconds until none failed', () => {
    const mark = { what: 'mark', scenario: SCENARIO, phase: 'returned', at: 1000 } as const
    const lines = [
      ...request('a', { at: 500 }, { status: 503 }),
      mark,
      ...request('b', { at: 2500 }, { status: null }),
      ...request('c', { at: 4000 }),
    ]
    const state = found({})
    expect(summarize(lines, judge(lines, state))).toEqual([
      {
        scenario: SCENARIO,
        requests: 3,
        acknowledged: 1,
        refused: 1,
        unanswered: 1,
        lost: 1,
        doubled: 0,
        foreign: 0,
        other: 0,
        recoverySeconds: 1.5,
      },
    ])
    const late = [...lines, ...request('d', { at: 4500 }, { at: 4600, status: 503 })]
    expect(summarize(late, [])[0]?.recoverySeconds).toBeNull()
    const next = { what: 'mark', scenario: 'the next', phase: 'begins', at: 4550 } as const
    expect(summarize([...late, next], [])[0]?.recoverySeconds).toBe(1.5)
  })

  it('compares the least memory of the first third of a run with that of the last, with the instances at that time', () => {
    const sample = ([heapBytes, rssBytes, instances]: readonly [number, number, number], at: number) =>
      ({ what: 'memory', at, heapBytes, rssBytes, instances }) as const
    const samples = (
      [
        [20, 900, 9],
        [25, 700, 5],
        [99, 100, 1],
        [99, 100, 1],
        [22, 950, 8],
        [21, 990, 12],
      ] as const
    ).map(sample)
    expect(growthOf(samples)).toEqual({ heap: [20, 21], stack: [samples[1], samples[4]] })
    expect(growthOf(samples.slice(0, 2))).toBeNull()
  })
})
