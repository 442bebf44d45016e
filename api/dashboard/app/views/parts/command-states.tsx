// The steps of a command, by how it went.
import type { CommandBody } from '../../../../../schemas/command.ts'
import { COMMAND_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { Stepper } from '../device/commands/stepper.tsx'
import '../device/commands/commands.css'

const at = (ms: number) => new Date(Date.parse('2026-03-01T08:30:00Z') + ms).toISOString()

const PENDING: CommandBody = {
  command_id: 'cmd_1',
  device_id: 'pump-1',
  command: 'blink',
  data: {},
  status: 'pending',
  held_reason: null,
  priority: 'normal',
  timeout_sec: 30,
  created_at: at(0),
  created_by: 'user:usr_1',
  expires_at: at(30_000),
  delivered_at: null,
  acked_at: null,
  completed_at: null,
  executed_at: null,
  cancelled_at: null,
  cancelled_by: null,
  progress: null,
  result: null,
  result_bytes_omitted: null,
  error: null,
  attempts: 1,
  late: false,
  conflicts: [],
  broadcast_id: null,
}

export function CommandStates() {
  return (
    <section class="card stack">
      <h2>Stepper</h2>
      {COMMAND_STATUSES.map((status) => (
        <Stepper
          key={status}
          command={{
            ...PENDING,
            status,
            delivered_at: status === 'pending' ? null : at(120),
            completed_at: status === 'completed' || status === 'failed' ? at(15_000) : null,
            cancelled_at: status === 'cancelled' ? at(9000) : null,
          }}
        />
      ))}
    </section>
  )
}
