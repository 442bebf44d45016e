// One command to many: what came of it, device by device.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { COMMAND_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { words as wordList } from '../../address/codecs.ts'
import { type Params, pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { addressOfSent } from '../../parts/command-address.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Facts } from '../../parts/facts.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { targetText } from '../../parts/target-text.ts'
import { toast } from '../../parts/toasts.tsx'
import { number, words } from '../../words/words.ts'
import { sharesOf } from './command-shares.ts'

const t = words({
  title: ['Broadcast', 'Befehl an viele'],
  total: ['Targeted', 'Gemeint'],
  accepted: ['Accepted', 'Angenommen'],
  by: ['Sent by', 'Gesendet von'],
  data: ['Parameters', 'Parameter'],
  skipped: ['Skipped', 'Ausgelassen'],
  cancel: ['Cancel open commands', 'Offene abbrechen'],
  cancelText: [
    '{n} command is not finished. If the device has received it, it may still carry it out. | {n} commands are not finished. A device may still carry out those that it has received.',
    '{n} Befehl ist nicht fertig. Hat das Gerät ihn schon angenommen, kann es ihn noch ausführen. | {n} Befehle sind nicht fertig. Was ein Gerät schon angenommen hat, kann noch ausgeführt werden.',
  ],
  again: ['Send again to failed devices', 'An die fehlgeschlagenen erneut'],
  first: [
    'The first {n} of {all} are in the form; send to the others after it.',
    'Die ersten {n} von {all} stehen im Formular; senden Sie danach an die anderen.',
  ],
  none: ['No device has one of these statuses', 'Kein Gerät hat einen dieser Status'],
})

type Row = ReplyOf<Operations['listBroadcastDevices']>['data'][number]
const statusValue = queryValue('status', wordList())
/** What has not come to an end. */
const OPEN = ['pending', 'delivered', 'acked'] as const
/** Their ids stand in the address of the form. */
const AGAIN_MAX = 200
const UNDONE = ['failed', 'rejected', 'expired']

export default function Broadcast({ params }: { readonly params: Params }) {
  const broadcast_id = params['broadcast_id'] ?? ''
  const answer = useAnswer('getBroadcast', { broadcast_id, query: { per_page: 1 } }, { everyMs: 5000 })
  useLiveAnswers({ channel: 'commands' }, ['getBroadcast', 'listBroadcastDevices'])
  const { data } = answer
  const counts: Readonly<Record<string, number>> = data?.counts ?? {}
  const open = OPEN.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  const undone = UNDONE.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  const again = useWrite(async () => {
    const { data: rows } = await fleet.listBroadcastDevices({
      broadcast_id,
      query: { status: [UNDONE.join(',')], per_page: AGAIN_MAX },
    })
    const ids = rows.map(({ device_id }) => device_id).join(',')
    if (rows.length < undone) toast({ text: t('first', { n: rows.length, all: undone }) })
    const sent = data === undefined ? {} : addressOfSent(data)
    navigate(pathOf('compose', {}, { target: 'devices', which: ids, ...sent }))
  })
  return (
    <Page
      title={data === undefined ? t('title') : plainText(data.command)}
      mark={data !== undefined && <strong>{stateWord(data.status)}</strong>}
      actions={
        <>
          {undone > 0 && may('broadcastCommand') && (
            <Button icon="rotate-ccw" write={again} onClick={() => void again.run()}>
              {t('again')}
            </Button>
          )}
          {open > 0 && may('cancelBroadcast') && (
            <ConfirmButton
              kind="danger"
              icon="x"
              action={t('cancel')}
              onConfirm={async () => {
                await fleet.cancelBroadcast({ broadcast_id })
                refreshAnswers('getBroadcast', 'listBroadcastDevices', 'listBroadcasts')
              }}
            >
              <p>{t('cancelText', { n: open })}</p>
            </ConfirmButton>
          )}
        </>
      }
    >
      <ProblemCard error={again.error.value} />
      <div class="stack">
        <AnswerArea answer={answer}>
          {(broadcast) => (
            <div class="stack">
              <StackedBar label={t('result')} shares={sharesOf(broadcast.counts)} />
              <section class="card">
                <Facts
                  rows={[
                    [t('devices'), targetText(broadcast.target)],
                    [t('total'), number(broadcast.total)],
                    [t('accepted'), number(broadcast.accepted)],
                    [
                      t('skipped'),
                      broadcast.skipped.length === 0
                        ? undefined
                        : broadcast.skipped
                            .map(({ device_id, reason }) => `${device_id} (${stateWord(reason)})`)
                            .join(', '),
                    ],
                    [t('by'), personText(broadcast.created_by)],
                    [t('sent'), <Age at={broadcast.created_at} />],
                    [
                      t('data'),
                      Object.keys(broadcast.data).length === 0 ? (
                        '–'
                      ) : (
                        <code>{plainText(JSON.stringify(broadcast.data))}</code>
                      ),
                    ],
                  ]}
                />
              </section>
            </div>
          )}
        </AnswerArea>
        <Devices broadcastId={broadcast_id} />
      </div>
    </Page>
  )
}

function Devices({ broadcastId: broadcast_id }: { readonly broadcastId: string }) {
  const status = statusValue.value
  const query = { page: pageValue.value, ...(status.length === 0 ? {} : { status: [status.join(',')] }) }
  const answer = useAnswer('listBroadcastDevices', { broadcast_id, query })
  const columns: readonly Column<Row>[] = [
    { name: t('device'), cell: ({ device_id }) => <a href={pathOf('device', { device_id })}>{device_id}</a> },
    { name: t('status'), cell: ({ status: word }) => stateWord(word) },
    {
      name: t('lastStep'),
      cell: ({ completed_at, acked_at, delivered_at, created_at }) => (
        <Age at={completed_at ?? acked_at ?? delivered_at ?? created_at} />
      ),
    },
    {
      name: t('answer'),
      cell: ({ error, result }) =>
        error === null ? (
          result === null ? (
            '–'
          ) : (
            <code>{plainText(JSON.stringify(result)).slice(0, 200)}</code>
          )
        ) : (
          <>
            <code>{error.code}</code> {plainText(error.message)}
          </>
        ),
    },
  ]
  return (
    <section class="stack">
      <div class="filters">
        <ChoiceChips
          label={t('status')}
          options={COMMAND_STATUSES.map((word) => [word, stateWord(word)] as const)}
          value={statusValue}
        />
      </div>
      <AnswerTable
        answer={answer}
        empty={<NoneFits title={t('none')} names={['status']} />}
        caption={t('devices')}
        columns={columns}
        idOf={({ command_id }) => command_id}
      />
    </section>
  )
}
