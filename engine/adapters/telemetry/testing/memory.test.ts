import { auditContract } from './audit-contract.ts'
import { censusContract } from './census-contract.ts'
import { telemetryContract } from './contract.ts'
import { devicesContract } from './devices-contract.ts'
import { fleetHistoryContract } from './fleet-history-contract.ts'
import { historyContract } from './history-contract.ts'
import { MemoryTelemetry } from './memory.ts'
import { pastAlertsContract } from './past-alerts-contract.ts'
import { seriesContract } from './series-contract.ts'

telemetryContract({
  name: 'memory',
  open: async () => new MemoryTelemetry(),
  restart: async (telemetry) => telemetry,
  runs: 100,
})

historyContract({ name: 'memory', open: async () => new MemoryTelemetry(), runs: 200 })

fleetHistoryContract({ name: 'memory', open: async () => new MemoryTelemetry(), runs: 100 })
pastAlertsContract({ name: 'memory', open: async () => new MemoryTelemetry(), runs: 100 })

auditContract({ name: 'memory', open: async () => new MemoryTelemetry(), runs: 200 })

censusContract({ name: 'memory', open: async () => new MemoryTelemetry() })
devicesContract({ name: 'memory', open: async () => new MemoryTelemetry() })

seriesContract({ name: 'memory', open: async () => new MemoryTelemetry(), runs: 200, parquet: false })
