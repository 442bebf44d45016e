// One deployment: its stages, what holds it, its failures by cause, and every device of it.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { errorText } from '../../../../../schemas/error-text.ts'
import { HELD_REASONS, JOB_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { oneOf, text, words as wordList } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { type Params, pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite, type Write } from '../../data/writes.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { SelectField } from '../../parts/select-field.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { targetText } from '../../parts/target-text.ts'
import { toast } from '../../parts/toasts.tsx'
import { number, words } from '../../words/words.ts'
import { FailureText } from './failure-text.tsx'
import { type Deployment, ProgressBar } from './progress-bar.tsx'
import { causeValue, FAILED_QUERY, Failures, ofCause } from './rollout-failures.tsx'
import { lastStep } from './rollout-jobs.ts'
import { Stages } from './rollout-stages.tsx'
import { deploymentStatusWord } from './rollout-words.ts'

const t = words({
  title: ['Rollout', 'Rollout'],
  pause: ['Pause', 'Anhalten'],
  resume: ['Resume', 'Fortsetzen'],
  approve: ['Approve the next stage', 'Nächste Stufe freigeben'],
  cancel: ['Cancel the rollout', 'Rollout abbrechen'],
  cancelText: [
    'No new updates start. Devices that are installing finish; {n} waiting one is cancelled. | No new updates start. Devices that are installing finish; {n} waiting ones are cancelled.',
    'Nichts Neues beginnt. Geräte, die gerade installieren, kommen zu Ende; {n} wartendes wird abgebrochen. | Nichts Neues beginnt. Geräte, die gerade installieren, kommen zu Ende; {n} wartende werden abgebrochen.',
  ],
  summary: ['Summary', 'Überblick'],
  target: ['Devices', 'Geräte'],
  slots: ['At a time', 'Gleichzeitig'],
  slotsOf: ['{n} now, at most {most}', 'jetzt {n}, höchstens {most}'],
  abort: ['Aborts at', 'Endet von selbst bei'],
  abortText: ['{percent} % failures after {n} finished', '{percent} % Fehlschlägen nach {n} fertigen'],
  by: ['Created by', 'Angelegt von'],
  finished: ['Finished', 'Fertig'],
  held: ['Waiting because of', 'Warum andere warten'],
  skipped: ['Skipped', 'Übersprungen'],
  roll: ['Roll back…', 'Zurückrollen…'],
  rollDo: ['Roll back {id}', '{id} zurückrollen'],
  rollText: [
    'The device is told to install {version} again and restarts.',
    'Das Gerät soll {version} wieder installieren und startet neu.',
  ],
  devices: ['Devices of this rollout', 'Geräte dieses Rollouts'],
  heldFilter: ['Held by', 'Wartet auf'],
  any: ['any reason', 'egal'],
  versions: ['Versions', 'Versionen'],
  attempt: ['Attempt', 'Versuch'],
  retry: ['Try again', 'Noch einmal'],
  find: ['Find by id', 'Nach ID suchen'],
  none: ['No devices match these filters', 'Kein Gerät passt zu diesen Filtern'],
  done: ['{what}: done', '{what}: erledigt'],
  failed: ['{what} failed: {reason}', '{what} ging nicht: {reason}'],
})

type Job = ReplyOf<Operations['listDeploymentDevices']>['data'][number]

const statusValue = queryValue('status', wordList())
const heldValue = queryValue('held', oneOf(['', ...HELD_REASONS] as const, ''))
const findValue = queryValue('find', text())
const OPEN = ['scheduled', 'pending', 'in_progress', 'paused']

export default function Rollout({ params }: { readonly params: Params }) {
  const deployment_id = params['deployment_id'] ?? ''
  const answer = useAnswer('getDeployment', { deployment_id }, { everyMs: 10_000 })
  useLiveAnswers({ channel: 'ota' }, ['getDeployment', 'listDeploymentDevices'])
  const { data } = answer
  const acting = useWrite((call: () => Promise<unknown>) => call())
  const act = async (what: string, call: () => Promise<unknown>) => {
    const isDone = await acting.run(call)
    if (isDone) {
      toast({ text: t('done', { what }) })
      refreshAnswers('getDeployment', 'listDeployments', 'listDeploymentDevices')
      return
    }
    const error = acting.error.peek()
    const reason = errorText(error)
    toast({ text: t('failed', { what, reason }), isFailure: true })
  }
  const isOpen = data !== undefined && OPEN.includes(data.status)
  const awaits = data?.stages.some(({ state }) => state === 'awaiting_approval') === true
  return (
    <Page
      title={data === undefined ? t('title') : plainText(data.name ?? data.firmware_version)}
      mark={data !== undefined && <strong>{deploymentStatusWord(data.status)}</strong>}
      actions={
        isOpen && (
          <>
            {awaits && (
              <Button
                kind="primary"
                icon="check"
                write={acting}
                onClick={() => void act(t('approve'), () => fleet.approveDeployment({ deployment_id }))}
              >
                {t('approve')}
              </Button>
            )}
            {data.status === 'paused' ? (
              <Button
                icon="play"
                write={acting}
                onClick={() => void act(t('resume'), () => fleet.resumeDeployment({ deployment_id }))}
              >
                {t('resume')}
              </Button>
            ) : (
              <Button
                icon="pause"
                write={acting}
                onClick={() => void act(t('pause'), () => fleet.pauseDeployment({ deployment_id }))}
              >
                {t('pause')}
              </Button>
            )}
            <ConfirmButton
              kind="danger"
              icon="x"
              action={t('cancel')}
              onConfirm={async () => {
                await fleet.cancelDeployment({ deployment_id })
                refreshAnswers('getDeployment', 'listDeployments')
              }}
            >
              <p>{t('cancelText', { n: data.progress.pending })}</p>
            </ConfirmButton>
          </>
        )
      }
    >
      <div class="stack">
        <AnswerArea answer={answer}>
          {(deployment) => (
            <div class="stack">
              {deployment.status_reason !== null && (
                <p role="status">{plainText(deployment.status_reason)}</p>
              )}
              <ProgressBar of={deployment} />
              <div class="cards">
                <Summary deployment={deployment} />
                <Stages deployment={deployment} />
                <Failures deployment={deployment} />
                <Causes deployment={deployment} />
              </div>
            </div>
          )}
        </AnswerArea>
        <Members deploymentId={deployment_id} acting={acting} onAct={act} />
      </div>
    </Page>
  )
}

function Summary({ deployment }: { readonly deployment: Deployment }) {
  const {
    target,
    strategy,
    window,
    max_concurrent,
    abort,
    created_by,
    started_at,
    finished_at,
    firmware_version,
  } = deployment
  return (
    <section class="card">
      <h2>{t('summary')}</h2>
      <Facts
        rows={[
          [t('version'), plainText(firmware_version)],
          [t('target'), `${targetText(target)} · ${number(deployment.total)}`],
          [t('strategy'), strategy],
          [
            t('slots'),
            window === max_concurrent ? number(window) : t('slotsOf', { n: window, most: max_concurrent }),
          ],
          [
            t('abort'),
            t('abortText', { percent: Number(abort['failure_percent']), n: Number(abort['min_finished']) }),
          ],
          [t('failures'), <FailureText of={deployment} />],
          [t('by'), personText(created_by)],
          [t('started'), <Age at={started_at} />],
          [t('finished'), <Age at={finished_at} />],
        ]}
      />
    </section>
  )
}

/** Why devices wait, were skipped or failed. */
function Causes({ deployment: { held, skipped } }: { readonly deployment: Deployment }) {
  const lists = [
    [t('held'), held],
    [t('skipped'), skipped],
  ] as const
  return (
    <>
      {lists
        .filter(([, counts]) => Object.values(counts).some((count) => count > 0))
        .map(([name, counts]) => (
          <section key={name} class="card">
            <h2>{name}</h2>
            <Facts
              rows={Object.entries(counts)
                .filter(([, count]) => count > 0)
                .map(([reason, count]) => [stateWord(reason), number(count)])}
            />
          </section>
        ))}
    </>
  )
}

interface MembersProps {
  readonly deploymentId: string
  readonly acting: Pick<Write<[]>, 'isUnderWay'>
  readonly onAct: (what: string, call: () => Promise<unknown>) => Promise<void>
}

function Members({ deploymentId: deployment_id, acting, onAct }: MembersProps) {
  const status = statusValue.value
  const held = heldValue.value
  const find = findValue.value
  const cause = causeValue.value
  const answer = useAnswer('listDeploymentDevices', {
    deployment_id,
    query: {
      ...(cause === '' ? { page: pageValue.value } : FAILED_QUERY),
      ...(cause !== '' || status.length === 0 ? {} : { status: status.join(',') }),
      ...omitEmpty({ held, q: find }),
    },
  })
  const canAct = may('retryDeploymentDevice')
  const columns: readonly Column<Job>[] = [
    { name: t('device'), cell: ({ device_id }) => <a href={pathOf('device', { device_id })}>{device_id}</a> },
    {
      name: t('status'),
      cell: ({ status: word, progress, finished_at }) => (
        <>
          {stateWord(word)}{' '}
          {progress !== null && finished_at === null && (
            <progress value={progress} max={100} aria-label={`${progress} %`} />
          )}
        </>
      ),
    },
    {
      name: t('versions'),
      cell: ({ from_version, to_version }) => [from_version, to_version].filter(Boolean).join(' → '),
    },
    { name: t('attempt'), isNumber: true, cell: ({ attempt }) => attempt },
    {
      name: t('why'),
      cell: ({ error, held_reason, reason }) =>
        error === null ? (
          stateWord(held_reason ?? reason ?? '')
        ) : (
          <>
            <code>{error.code}</code>
            <span class="table-more">{plainText(error.message)}</span>
          </>
        ),
    },
    { name: t('lastStep'), cell: (job) => <Age at={lastStep(job)} /> },
    ...(canAct
      ? [
          {
            name: t('actions'),
            cell: (job: Job) => {
              const { device_id, status: word } = job
              if (word === 'succeeded' && job.from_version !== null && may('rollBackDevice'))
                return (
                  <ConfirmButton
                    icon="rotate-ccw"
                    name={t('roll')}
                    action={t('rollDo', { id: device_id })}
                    onConfirm={async () => {
                      await fleet.rollBackDevice({ device_id })
                      refreshAnswers('getDeployment', 'listDeployments', 'listDeploymentDevices')
                    }}
                  >
                    <p>{t('rollText', { version: plainText(job.from_version ?? '') })}</p>
                  </ConfirmButton>
                )
              return ['failed', 'timed_out', 'rejected', 'cancelled'].includes(word) ? (
                <Button
                  write={acting}
                  onClick={() =>
                    void onAct(t('retry'), () => fleet.retryDeploymentDevice({ deployment_id, device_id }))
                  }
                >
                  {t('retry')}
                </Button>
              ) : null
            },
          },
        ]
      : []),
  ]
  return (
    <section class="stack">
      <h2>{t('devices')}</h2>
      <div class="filters">
        <Field label={t('find')} type="search" value={find} onValue={findValue.set} spellcheck={false} />
        <SelectField
          label={t('heldFilter')}
          options={[['', t('any')], ...HELD_REASONS.map((word) => [word, stateWord(word)] as const)]}
          value={held}
          onValue={heldValue.set}
        />
        <ChoiceChips
          label={t('status')}
          options={[...JOB_STATUSES, 'skipped' as const].map((word) => [word, stateWord(word)] as const)}
          value={statusValue}
        />
      </div>
      <AnswerTable
        answer={ofCause(answer, cause)}
        empty={<NoneFits title={t('none')} names={['find', 'held', 'status', 'cause']} />}
        caption={t('devices')}
        columns={columns}
        idOf={({ device_id }) => device_id}
      />
    </section>
  )
}
