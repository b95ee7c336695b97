import { Problem } from '#shared/base/problem.ts'

/** A form that no page of ours is known to have sent. It is a 403 that concerns no role. */
export class ForeignForm extends Problem {
  override name = 'ForeignForm'

  constructor(reason: string) {
    super(403, { reason })
  }
}
