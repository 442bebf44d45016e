// Telemetry of the embedded profile: ClickHouse's engine in a child process, and the adapter in front of it.
import type { Telemetry } from '../../../ports/telemetry.ts'
import { ClickHouseTelemetry } from '../clickhouse/clickhouse.ts'
import { type ChdbEvent, ChdbSupervisor } from './chdb-supervisor.ts'

interface Logger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Resolves once it answers and its tables are there. */
export async function openEmbeddedTelemetry(options: {
  readonly path: string
  readonly retentionDays?: number | undefined
  readonly auditRetentionDays?: number | undefined
  readonly logger: Logger
}): Promise<Telemetry> {
  const { path, retentionDays, auditRetentionDays, logger } = options
  const chdb = await ChdbSupervisor.open({ dataDir: path, listen: (event) => logEvent(logger, event) })
  try {
    return await ClickHouseTelemetry.open({
      endpoint: () => chdb.endpoint(),
      retentionDays,
      auditRetentionDays,
      isUp: () => chdb.isUp(),
      release: () => chdb.close(),
    })
  } catch (cause) {
    await chdb.close()
    throw cause
  }
}

function logEvent(logger: Logger, event: ChdbEvent): void {
  const { kind, ...fields } = event
  if (kind === 'started') logger.info(fields, 'chdb started again')
  else if (kind === 'silent') logger.warn(fields, 'chdb does not answer and is replaced')
  else if (kind === 'ended') logger.warn(fields, 'chdb ended and is started again')
  else logger.warn(fields, 'chdb does not start')
}
