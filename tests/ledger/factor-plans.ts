import { codeOf, secretBytes, stepAt } from '#shared/factor/totp.ts'
import { now, SETTLED_MS } from './ledger.ts'
import { type Answer, keep, keepEnded, pick, type Plan, type Planners, type Pool, take, within } from './plan.ts'
import type { SecuredPerson, Shop } from './shops.ts'

/** The share of the proofs that are sent again after they were accepted. */
const REPLAYED = 0.3
/** An open sign-in takes five, and a proof that is refused without need would be a finding. */
const MOST_USES = 3
/** A part that fails fails for a while. */
const AGAIN_AFTER_MS = 4000
const MOST_OPEN = 3
// Half of the ten minutes that an open sign-in lives.
const OPEN_MS = 300_000
// A code is good for a step after its own. Half of that is left for the request.
const CODE_SECONDS = 45

interface OpenSignIn {
  readonly token: string
  readonly since: number
}

/** What the traffic knows of a person with a second factor. */
interface Owner {
  readonly person: SecuredPerson
  readonly open: OpenSignIn[]
  /** The recovery codes that were never sent, with their names. */
  readonly left: [number, string][]
  /** The step of the last code. Each step gives one. */
  lastStep: number
  /** How many requests with a code have no response yet. */
  running: number
  /** An earlier code may be accepted until then, and no other before it. */
  freeAt: number
}

/** A code or recovery code, which counts once. */
interface Proof {
  readonly name: string
  readonly owner: Owner
  readonly kind: 'finish' | 'recover'
  readonly body: object
  /** Null for a recovery code. */
  readonly step: number | null
  /** The open sign-in that it was last sent to. */
  sentTo?: string
  uses: number
  /** When it was last answered, or not. */
  settledAt: number
}

/** Plans how people with a second factor sign in and step up. A proof is also sent again: when it was accepted, and when its response was lost. */
export function planFactors(
  shops: readonly Shop[],
  pool: Pool,
): Planners<'password' | 'finish' | 'recover' | 'step-up'> {
  const owners = shops
    .flatMap(({ secured }) => secured)
    .map((person): Owner => {
      const left = [...person.recoveryCodes.entries()]
      return { person, open: [], left, lastStep: 0, running: 0, freeAt: 0 }
    })
  const accepted: Proof[] = []
  const doubtful: Proof[] = []
  let names = 0
  const nameOf = (id: string): string => {
    names += 1
    return `${id} token ${names}`
  }

  /** Returns the code of now, or undefined when it was sent or an earlier one may still be accepted. */
  const takeCode = (owner: Owner): Proof | undefined => {
    const { person, lastStep, running, freeAt } = owner
    const step = stepAt(Date.now() / 1000)
    if (step <= lastStep || running > 0 || now() < freeAt) return undefined
    owner.lastStep = step
    const body = { code: codeOf(secretBytes(person.totpSecret), step) }
    return { name: `${person.email} step ${step}`, owner, kind: 'finish', body, step, uses: 0, settledAt: 0 }
  }
  const takeRecoveryCode = (owner: Owner): Proof | undefined => {
    const [index, code] = owner.left.shift() ?? []
    if (code === undefined) return undefined
    const name = `${owner.person.email} recovery code ${index}`
    return { name, owner, kind: 'recover', body: { recovery_code: code }, step: null, uses: 0, settledAt: 0 }
  }

  /** Returns the part of a request that proves, and keeps what is known of the proof when it is answered. */
  const proving = (proof: Proof, signInToken: string | undefined, settle: (answer: Answer) => void) => {
    const { owner, name, body, step } = proof
    owner.running += step === null ? 0 : 1
    proof.uses += 1
    if (signInToken !== undefined) proof.sentTo = signInToken
    return {
      proof: name,
      body: { ...body, ...(signInToken === undefined ? {} : { sign_in_token: signInToken }) },
      settle: (answer: Answer) => {
        owner.running -= step === null ? 0 : 1
        proof.settledAt = now()
        if (answer.isOpen && step !== null) owner.freeAt = now() + SETTLED_MS
        const known = answer.isOpen ? doubtful : accepted
        if (!known.includes(proof)) keep(known, proof)
        settle(answer)
      },
    }
  }

  /** Whether a proof whose response was lost is sent again. It is good if it was not accepted. */
  const isGood = ({ owner, step, uses, settledAt }: Proof): boolean =>
    uses < MOST_USES &&
    now() > settledAt + AGAIN_AFTER_MS &&
    (step === null || (step === owner.lastStep && Date.now() / 1000 < step * 30 + CODE_SECONDS))

  /** Returns a proof to send again, and the open sign-in to send it to. */
  const again = (kind: Proof['kind']): { proof: Proof; token: string } | undefined => {
    const at = doubtful.findIndex((each) => each.kind === kind && isGood(each))
    const [lost] = at < 0 ? [] : doubtful.splice(at, 1)
    const proof = lost ?? (Math.random() < REPLAYED ? pick(accepted.filter((each) => each.kind === kind)) : undefined)
    const token = lost?.sentTo ?? (proof && nextOpen(proof.owner))
    return proof && token !== undefined ? { proof, token } : undefined
  }

  const nextOpen = ({ open }: Owner): string | undefined => {
    while (open[0] !== undefined && now() - open[0].since > OPEN_MS) open.shift()
    return open.shift()?.token
  }

  const first = (takeProof: (owner: Owner) => Proof | undefined) => {
    for (const owner of owners.toSorted(() => Math.random() - 0.5)) {
      const proof = owner.open.length > 0 ? takeProof(owner) : undefined
      const token = proof && nextOpen(owner)
      if (proof && token !== undefined) return { proof, token }
    }
    return undefined
  }

  const finish = (kind: Proof['kind'], takeProof: (owner: Owner) => Proof | undefined): Plan | undefined => {
    const found = again(kind) ?? first(takeProof)
    if (found === undefined) return undefined
    const { proof, token } = found
    const { person } = proof.owner
    const signedIn = ({ isDone, body }: Answer) => {
      if (!isDone) return
      const session = { id: body.session.id, name: nameOf(body.session.id), token: body.token, person }
      keep(pool.pending, { session, selected: () => keep(pool.proven, session) })
    }
    const route = 'POST /v1/auth/login/second-factor'
    return { kind, tenant: person.tenant, route, ...proving(proof, token, signedIn) }
  }

  return {
    password: () => {
      const owner = pick(owners.filter(({ open }) => open.length < MOST_OPEN))
      if (owner === undefined) return undefined
      const { email, password, tenant } = owner.person
      const opened = ({ isDone, body }: Answer) => {
        // A session in its place is a contradiction in the database.
        if (isDone && 'second_factor' in body)
          owner.open.push({ token: body.second_factor.sign_in_token, since: now() })
      }
      return { kind: 'password', tenant, route: 'POST /v1/auth/login', body: { email, password }, settle: opened }
    },
    finish: () => finish('finish', takeCode),
    recover: () => finish('recover', takeRecoveryCode),
    'step-up': () => {
      const session = take(pool.proven)
      const owner = owners.find(({ person }) => person === session?.person)
      if (session === undefined || owner === undefined) return undefined
      const used = Math.random() < REPLAYED ? pick(accepted.filter((proof) => proof.owner === owner)) : undefined
      const proof = used ?? takeCode(owner) ?? (Math.random() < REPLAYED ? takeRecoveryCode(owner) : undefined)
      if (proof === undefined) {
        keep(pool.proven, session)
        return undefined
      }
      const steppedUp = ({ isDone, isOpen, body }: Answer) => {
        // The response with the new token may be lost: then the old one lives exactly if nothing was done.
        if (isOpen) setTimeout(() => keepEnded(pool, session), SETTLED_MS).unref()
        else if (isDone) keepEnded(pool, session)
        if (!isOpen) keep(pool.proven, isDone ? { ...session, name: nameOf(session.id), token: body.token } : session)
      }
      const own = within(session)
      const ends = own.session === undefined ? [] : [own.session]
      const sent = { kind: 'step-up' as const, route: 'POST /v1/auth/step-up', ...own, target: session.id, ends }
      return { ...sent, ...proving(proof, undefined, steppedUp) }
    },
  }
}
