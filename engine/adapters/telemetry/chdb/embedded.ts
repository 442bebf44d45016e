// Telemetry of the embedded profile: ClickHouse's engine in a child process, with the adapter in front of it.
import { ClickHouseTelemetry } from '../clickhouse/clickhouse.ts'
import { type ChdbEvent, ChdbSupervisor } from './chdb-supervisor.ts'

interface Logger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
}

export function embeddedTelemetry({
  path,
  logger,
  ...options
}: {
  readonly path: string
  readonly retentionDays?: number | undefined
  readonly auditRetentionDays?: number | undefined
  readonly alertRetentionDays?: number | undefined
  readonly logger: Logger
}): ClickHouseTelemetry {
  const openServer = () => ChdbSupervisor.open({ dataDir: path, listen: (event) => logEvent(logger, event) })
  return new ClickHouseTelemetry({ ...options, openServer })
}

function logEvent(logger: Logger, event: ChdbEvent): void {
  const { kind, ...fields } = event
  if (kind === 'started') logger.info(fields, 'the chdb process was started again and answers')
  else if (kind === 'silent') logger.warn(fields, 'the chdb process does not answer and is replaced')
  else if (kind === 'ended')
    logger.warn(fields, 'the chdb process ended and is started again; no rows are lost')
  else logger.warn(fields, 'the chdb process did not start and is tried again; rows wait in the log')
}
