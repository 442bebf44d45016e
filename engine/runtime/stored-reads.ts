// Questions that the store or ClickHouse answers, so that any node may be asked.
import type { AlertId, DeviceId } from '../../schemas/ids.ts'
import type { AuditFilter, AuditQuery, AuditRow, AuditTrail } from '../ports/audit.ts'
import type { Ports } from '../ports/engine.ts'
import type {
  CommandPlace,
  FleetHistoryQuery,
  History,
  HistoryFilter,
  HistoryQuery,
  HistoryRow,
  PastAlerts,
  PastAlertsQuery,
  PastCommand,
  PastCommandsQuery,
} from '../ports/history.ts'
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetters,
  LetterReason,
} from '../ports/store.ts'

export class StoredReads implements History, AuditTrail, DeadLetters {
  readonly #ports: Pick<Ports, 'telemetry' | 'store'>

  constructor(ports: Pick<Ports, 'telemetry' | 'store'>) {
    this.#ports = ports
  }

  history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    return this.#ports.telemetry.history(query)
  }

  fleetHistory(query: FleetHistoryQuery): Promise<readonly HistoryRow[]> {
    return this.#ports.telemetry.fleetHistory(query)
  }

  pastCommands(query: PastCommandsQuery): Promise<readonly PastCommand[]> {
    return this.#ports.telemetry.pastCommands(query)
  }

  pastAlerts(query: PastAlertsQuery): Promise<PastAlerts> {
    return this.#ports.telemetry.pastAlerts(query)
  }

  alertMoves(deviceId: DeviceId, alertId: AlertId): Promise<readonly HistoryRow[]> {
    return this.#ports.telemetry.alertMoves(deviceId, alertId)
  }

  commandSteps(commands: readonly CommandPlace[]): Promise<readonly HistoryRow[]> {
    return this.#ports.telemetry.commandSteps(commands)
  }

  countHistory(filter: HistoryFilter): Promise<number> {
    return this.#ports.telemetry.countHistory(filter)
  }

  countAudit(filter: AuditFilter): Promise<number> {
    return this.#ports.telemetry.countAudit(filter)
  }

  audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return this.#ports.telemetry.audit(query)
  }

  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    return this.#ports.store.deadLetters(query)
  }

  deadLetter(id: string): Promise<DeadLetter | undefined> {
    return this.#ports.store.deadLetter(id)
  }

  deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]> {
    return this.#ports.store.deadLetterReasons(filter)
  }
}
