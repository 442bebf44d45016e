// The channels: where alerts are told of, whether that works, and what was sent.

import { useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { errorText } from '../../../../../schemas/error-text.ts'
import { text } from '../../address/codecs.ts'
import { may, roleFor } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'
import { Deliveries } from './deliveries.tsx'
import { NewChannel } from './new-channel.tsx'

const t = words({
  type: ['Type', 'Art'],
  test: ['Send test', 'Test senden'],
  sent: [
    '{name} accepted the test message in {ms} ms.',
    '{name} hat die Testnachricht in {ms} ms angenommen.',
  ],
  unsent: [
    '{name} did not accept the test message: {reason}',
    '{name} hat die Testnachricht nicht angenommen: {reason}',
  ],
  deliveries: ['Deliveries', 'Zustellungen'],
  readOnly: [
    'Creating, testing and deleting channels needs the role {role}.',
    'Kanäle anlegen, testen und löschen braucht die Rolle {role}.',
  ],
  removeText: [
    '{name} gets no more notifications. A channel that a rule uses cannot be deleted.',
    '{name} erfährt von keinem Alarm mehr. Regeln, die ihn nennen, verhindern das Löschen.',
  ],
  empty: ['No channels yet', 'Noch erfährt niemand von Alarmen'],
  emptyMore: [
    'Alerts are sent to channels: a chat, a webhook or a mailbox.',
    'Ein Kanal ist ein Chat, ein Webhook oder ein Postfach.',
  ],
})

type Channel = ReplyOf<Operations['listChannels']>['data'][number]
const ofValue = queryValue('of', text())

export default function Channels() {
  const answer = useAnswer('listChannels', { query: { per_page: 200 } })
  const [isNew, setNew] = useState(false)
  const isAdmin = may('createChannel')
  const columns: readonly Column<Channel>[] = [
    { name: t('name'), cell: ({ name }) => plainText(name) },
    { name: t('type'), cell: ({ type }) => type },
    { name: t('severities'), cell: ({ severity }) => severity.join(', ') },
    {
      name: t('state'),
      cell: ({ state, last_error }) => (
        <>
          <span class={state === 'failing' ? 'severity-critical' : undefined}>{state}</span>
          {last_error != null && <span class="table-more">{last_error.code}</span>}
        </>
      ),
    },
    ...(isAdmin
      ? [
          {
            name: t('actions'),
            cell: (channel: Channel) => <Actions channel={channel} />,
          },
        ]
      : []),
  ]
  return (
    <Page
      title={t('channels')}
      actions={
        isAdmin && (
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>
            {t('newChannel')}
          </Button>
        )
      }
    >
      <AreaTabs of="alerting" />
      {!isAdmin && <p class="muted">{t('readOnly', { role: roleFor('createChannel') ?? '' })}</p>}
      <AnswerTable
        answer={answer}
        empty={<Empty title={t('empty')} hint={t('emptyMore')} />}
        caption={t('channels')}
        columns={columns}
        idOf={({ channel_id }) => channel_id}
      />
      {isAdmin && ofValue.value !== '' && <Deliveries channelId={ofValue.value} />}
      {isNew && <NewChannel onClose={() => setNew(false)} />}
    </Page>
  )
}

function Actions({ channel: { channel_id, name } }: { readonly channel: Channel }) {
  const test = useWrite(async () => {
    try {
      const { delivered, latency_ms: ms, error } = await fleet.testChannel({ channel_id })
      toast(
        delivered
          ? { text: t('sent', { name, ms }) }
          : { text: t('unsent', { name, reason: error?.message ?? '' }), isFailure: true },
      )
    } catch (error) {
      toast({
        text: t('unsent', { name, reason: errorText(error) }),
        isFailure: true,
      })
    }
  })
  return (
    <span class="row">
      <Button write={test} onClick={() => void test.run()}>
        {t('test')}
      </Button>
      <Button onClick={() => ofValue.set(channel_id)}>{t('deliveries')}</Button>
      <ConfirmButton
        icon="trash-2"
        label={t('delete')}
        action={t('delete')}
        onConfirm={async () => {
          await fleet.deleteChannel({ channel_id })
          refreshAnswers('listChannels')
        }}
      >
        <p>{t('removeText', { name: plainText(name) })}</p>
      </ConfirmButton>
    </span>
  )
}
