import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'deliver-mail',
  needs: ['database:worker', 'tokens', 'mail'],
  // Woken after each commit that enqueued mail; the schedule finds what a lost call leaves.
  everySeconds: 60,
  timeoutSeconds: 60,
}
