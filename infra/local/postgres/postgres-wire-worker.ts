import { parentPort, workerData } from 'node:worker_threads'
import * as v from 'valibot'
import { createFaults } from '#infra/local/faults.ts'
import { startPostgresWire } from './postgres-wire.ts'

// The thread that startPostgresWireThread runs. Each message to it is a fault, answered with 'applied'; once it listens
// it says its port.
const { counters, fault, ...options } = v.parse(
  v.object({
    host: v.string(),
    port: v.number(),
    listenPort: v.number(),
    counters: v.instance(SharedArrayBuffer),
    fault: v.unknown(),
  }),
  workerData,
)
const faults = createFaults()
await faults.set(fault)
const wire = await startPostgresWire({ ...options, faults, counters: new Uint32Array(counters) })
parentPort?.on('message', (change: unknown) => {
  void faults.set(change).then(() => parentPort?.postMessage('applied'))
})
parentPort?.postMessage(wire.port)
