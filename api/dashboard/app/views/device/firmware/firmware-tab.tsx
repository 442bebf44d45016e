// The firmware of the device: what it runs, each update with the time of its phases, and the way back to the version before.

import type { JobBody } from '../../../../../../schemas/deployment.ts'
import { pathOf } from '../../../address/routes.ts'
import { may } from '../../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../../data/answers.ts'
import { fleet } from '../../../data/client.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { stateWord } from '../../../parts/state-words.ts'
import { exactInstant, instant } from '../../../words/time.ts'
import { number, words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { phasesOf } from './phases.ts'

const t = words({
  runs: ['Running', 'Läuft'],
  unknown: ['The device has not reported its version', 'Das Gerät hat seine Version nicht genannt'],
  since: ['since', 'seit'],
  before: ['Before', 'Davor'],
  proven: ['confirmed by an update', 'durch ein Update belegt'],
  updates: ['Updates', 'Updates'],
  none: [
    'No updates yet. Rollouts bring firmware to devices.',
    'An dieses Gerät ging noch kein Update. Ein Rollout bringt Firmware auf Geräte.',
  ],
  rollouts: ['Open rollouts', 'Zu den Rollouts'],
  roll: ['Roll back…', 'Zurückrollen…'],
  rollTitle: ['Roll back {id}', '{id} zurückrollen'],
  rollDo: ['Roll back to {version}', 'Auf {version} zurückrollen'],
  rollText: [
    'The device is told to install {version} again and restarts. It now runs {current}.',
    'Das Gerät soll {version} wieder installieren und startet neu. Jetzt läuft {current}.',
  ],
  noBefore: ['No earlier version to roll back to.', 'Es gibt keine frühere Version.'],
  gone: ['This device is decommissioned.', 'Dieses Gerät ist ausgemustert.'],
  needs: ['This needs the role admin.', 'Dafür braucht es die Rolle admin.'],
  hidden: ['Seeing updates needs the role operator.', 'Updates sehen nur Operatoren und Admins.'],
  attempt: ['attempt {n}', 'Versuch {n}'],
  held: ['waits: {reason}', 'wartet: {reason}'],
})

export default function FirmwareTab({ device }: TabProps) {
  const { firmware, device_id: deviceId } = device
  const maySee = may('getDeviceFirmware')
  const answer = useAnswer('getDeviceFirmware', { device_id: deviceId })
  useLiveAnswers({ channel: 'ota', filter: { device_id: deviceId } }, ['getDeviceFirmware'])
  const to = firmware.previous_version
  return (
    <div class="stack">
      <section class="card">
        <div class="row card-head">
          <h2>{firmware.version === null ? t('unknown') : `${t('runs')} ${plainText(firmware.version)}`}</h2>
          <ConfirmButton
            icon="rotate-ccw"
            name={t('roll')}
            disabledBecause={
              device.status === 'decommissioned'
                ? t('gone')
                : may('rollBackDevice')
                  ? to === null
                    ? t('noBefore')
                    : undefined
                  : t('needs')
            }
            title={t('rollTitle', { id: deviceId })}
            action={t('rollDo', { version: plainText(to ?? '') })}
            onConfirm={async () => {
              await fleet.rollBackDevice({ device_id: deviceId })
              refreshAnswers('getDeviceFirmware', 'getDevice')
            }}
          >
            <p>
              {t('rollText', { version: plainText(to ?? ''), current: plainText(firmware.version ?? '–') })}
            </p>
          </ConfirmButton>
        </div>
        <Facts
          rows={[
            [t('since'), firmware.since === null ? undefined : <Age at={firmware.since} />],
            [t('before'), to === null ? undefined : plainText(to)],
            [
              t('image'),
              firmware.firmware_id === null ? undefined : (
                <>
                  <code>{firmware.firmware_id}</code> <span class="muted">{t('proven')}</span>
                </>
              ),
            ],
            [t('sha256'), firmware.sha256 === null ? undefined : <code>{plainText(firmware.sha256)}</code>],
          ]}
        />
      </section>
      <section class="card">
        <h2>{t('updates')}</h2>
        {maySee ? (
          <AnswerArea answer={answer}>
            {({ jobs }) =>
              jobs.length === 0 ? (
                <p class="muted">
                  {t('none')} <a href={pathOf('rollouts')}>{t('rollouts')}</a>
                </p>
              ) : (
                <ul class="stack">
                  {jobs.map((job) => (
                    <Job key={`${job.deployment_id} ${job.attempt}`} job={job} />
                  ))}
                </ul>
              )
            }
          </AnswerArea>
        ) : (
          <p class="muted">{t('hidden')}</p>
        )}
      </section>
    </div>
  )
}

function Job({ job }: { readonly job: JobBody }) {
  const phases = phasesOf(job)
  return (
    <li>
      <p class="row">
        <a href={pathOf('rollout', { deployment_id: job.deployment_id })}>
          {[job.from_version, job.to_version]
            .filter((one) => one !== null)
            .map(plainText)
            .join(' → ')}
        </a>
        <strong>{stateWord(job.status)}</strong>
        {job.attempt > 1 && <span class="muted">{t('attempt', { n: job.attempt })}</span>}
        {job.held_reason !== null && (
          <span class="severity-warning">▲ {t('held', { reason: stateWord(job.held_reason) })}</span>
        )}
        <span class="muted">
          <Age at={job.finished_at ?? job.notified_at ?? job.created_at} />
        </span>
      </p>
      {job.progress !== null && job.finished_at === null && (
        <progress aria-label={stateWord(job.status)} max={100} value={job.progress} />
      )}
      <ol class="row muted">
        {phases.map(({ name, at, tookMs }) => (
          <li key={name} title={exactInstant(at)}>
            {stateWord(name)} {instant(at, { timeStyle: 'medium', dateStyle: undefined })}
            {tookMs !== undefined && ` (+${number(tookMs / 1000, { maximumFractionDigits: 1 })} s)`}
          </li>
        ))}
      </ol>
      {job.error !== null && (
        <p class="field-error">
          <code>{plainText(job.error.code)}</code> {plainText(job.error.message)}
        </p>
      )}
    </li>
  )
}
