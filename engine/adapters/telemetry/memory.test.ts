import { telemetryContract } from './contract.ts'
import { MemoryTelemetry } from './memory.ts'

telemetryContract({
  name: 'memory',
  open: async () => new MemoryTelemetry(),
  restart: async (telemetry) => telemetry,
  runs: 100,
})
