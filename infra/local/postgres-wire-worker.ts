import { parentPort, workerData } from 'node:worker_threads'
import * as v from 'valibot'
import { createFaults } from './faults.ts'
import { startPostgresWire } from './postgres-wire.ts'

// The thread that startPostgresWireThread runs. Every message to it is a fault; its only message is the port.
const { counters, ...options } = v.parse(
  v.object({
    host: v.string(),
    port: v.number(),
    listenPort: v.number(),
    counters: v.instance(SharedArrayBuffer),
  }),
  workerData,
)
const faults = createFaults()
parentPort?.on('message', (fault: unknown) => faults.set(fault))
const wire = await startPostgresWire({ ...options, faults, counters: new Uint32Array(counters) })
parentPort?.postMessage(wire.port)
