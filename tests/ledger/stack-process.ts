import * as v from 'valibot'
import { startStack } from '#infra/local/stack.ts'
import { answerQuestions, givenOptions } from '#tests/bench/processes.ts'

// The stack of `npm start` in a process of its own, which the run may also ask for what no address offers.
const Options = v.object({ stateDir: v.string(), env: v.record(v.string(), v.string()) })
const Question = v.variant('do', [
  v.object({ do: v.literal('deploy'), folder: v.string(), names: v.array(v.string()) }),
  v.object({ do: v.literal('memory') }),
  v.object({ do: v.literal('close') }),
])

/** What the stack is asked to do. */
export type Question = v.InferOutput<typeof Question>

const { stateDir, env } = v.parse(Options, givenOptions())
const stack = await startStack({ stateDir, port: 0, webPort: 0, env })

answerQuestions(stack.info, async (question) => {
  const asked = v.parse(Question, question)
  switch (asked.do) {
    case 'deploy':
      return stack.deploy(asked.folder, asked.names).then(
        () => ({ error: null }),
        (error: unknown) => ({ error: String(error) }),
      )
    case 'memory': {
      const heaps = await stack.heaps()
      return { rssBytes: process.memoryUsage.rss(), heaps }
    }
    case 'close':
      await stack.close()
      return { error: null }
  }
})
