// The way of a new device, rung by rung, from what the service knows: registered, connected, heard, stored. A refused
// connection is told with its cause.
import { useAnswer } from '../../data/answers.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { Age } from '../../parts/age.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { t } from './connect-words.ts'
import { refusalCause } from './refusal-cause.ts'

const EVERY_MS = 2000

export interface LadderProps {
  readonly deviceId: string
  readonly registeredAt: string
  readonly endpoint: string
}

export function Ladder({ deviceId, registeredAt, endpoint }: LadderProps) {
  useLiveAnswers({ channel: 'devices', filter: { device_id: deviceId } }, ['getDevice', 'listMetrics'])
  const device = useAnswer('getDevice', { device_id: deviceId }, { everyMs: EVERY_MS }).data
  const heardAt = device?.last_telemetry_at ?? undefined
  const metrics = useAnswer(
    'listMetrics',
    { device_id: deviceId },
    { everyMs: EVERY_MS, isWanted: heardAt !== undefined },
  ).data
  const storedAt = metrics?.data[0]?.timestamp
  const since = device?.connectivity.since ?? undefined
  // A device that sent something was connected, even if it has already gone again.
  const connectedAt =
    device?.connectivity.connected === true ? since : heardAt === undefined ? undefined : since
  const isReached = connectedAt !== undefined
  return (
    <section class="card" aria-labelledby="ladder">
      <h2 id="ladder">{t('ladder')}</h2>
      <ol class="ladder" aria-live="polite">
        <Rung name={t('stepRegistered')} at={registeredAt} />
        <Rung name={t('connected')} at={connectedAt} />
        <Rung name={t('stepHeard')} at={heardAt} />
        <Rung name={t('stepStored')} at={storedAt} />
      </ol>
      {!isReached && <Cause deviceId={deviceId} registeredAt={registeredAt} endpoint={endpoint} />}
    </section>
  )
}

function Rung({ name, at }: { readonly name: string; readonly at: string | undefined }) {
  return (
    <li class={at === undefined ? 'rung' : 'rung rung-done'}>
      <span aria-hidden="true">{at === undefined ? '◌' : '✓'}</span>
      <span>{name}</span>
      <span class="muted">{at === undefined ? t('waiting') : <Age at={at} />}</span>
    </li>
  )
}

/** Why it is not connected: what the broker itself refused since the registration. */
function Cause({ deviceId, registeredAt, endpoint }: LadderProps) {
  const refused = { action: 'mqtt.connect', outcome: 'refused', from: registeredAt } as const
  const own = useAnswer(
    'listAudit',
    { query: { ...refused, device_id: deviceId, limit: 1 } },
    { everyMs: EVERY_MS },
  ).data?.data
  // It may have been given another id by mistake. Those of its own must not get lost among them.
  const all = useAnswer('listAudit', { query: { ...refused, limit: 200 } }, { everyMs: EVERY_MS }).data?.data
  const cause = refusalCause([...(own ?? []), ...(all ?? [])], deviceId)
  const { hostname: host, port } = new URL(endpoint)
  if (cause === undefined) return <p class="hint">{t('nothingYet', { host, port })}</p>
  const { word, otherId } = cause
  return (
    <p class="field-error" role="status">
      {otherId !== undefined
        ? t(otherId === '' ? 'unreadableId' : 'otherId', { other: plainText(otherId), id: deviceId })
        : t(word ?? 'refused', { reason: plainText(cause.reason) })}
    </p>
  )
}
