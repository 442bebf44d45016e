// Commands of all devices, newest first.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { COMMAND_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { text, words as wordList } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { fleet } from '../../data/client.ts'
import { useFeed } from '../../data/feed.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { FeedArea } from '../../parts/feed-area.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { Page } from '../../parts/page.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { RoleNeeded } from '../../parts/role-needed.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { TimeFilter, timesInAddress } from '../../parts/time-filter.tsx'
import { words } from '../../words/words.ts'

const t = words({
  late: ['late', 'zu spät'],
  none: ['No commands yet', 'Noch wurde kein Befehl gesendet'],
  noneMore: [
    'Open a device to send it a command, or broadcast one to many.',
    'Öffnen Sie ein Gerät, um einen zu senden, oder senden Sie an viele.',
  ],
  match: ['No commands match these filters', 'Kein Befehl passt zu diesen Filtern'],
})

type Command = ReplyOf<Operations['listFleetCommands']>['data'][number]
const statusValue = queryValue('status', wordList())
const commandValue = queryValue('command', text())
const groupValue = queryValue('group', text())

export default function Commands() {
  if (!may('listFleetCommands'))
    return (
      <Page title={t('commands')}>
        <RoleNeeded operation="listFleetCommands" />
      </Page>
    )
  return <Allowed />
}

function Allowed() {
  const status = statusValue.value
  const command = commandValue.value
  const group = groupValue.value
  const filters = {
    ...timesInAddress(),
    ...(status.length === 0 ? {} : { status: [status.join(',')] }),
    ...omitEmpty({ command, group }),
  }
  const query = { ...filters, limit: 50 }
  const feed = useFeed(JSON.stringify(query), (cursor) =>
    fleet.listFleetCommands({ query: { ...query, ...omitEmpty({ cursor }) } }),
  )
  const columns: readonly Column<Command>[] = [
    { name: t('command'), cell: ({ command: name }) => plainText(name) },
    {
      name: t('device'),
      cell: ({ device_id }) => <a href={pathOf('deviceTab', { device_id, tab: 'commands' })}>{device_id}</a>,
    },
    {
      name: t('status'),
      cell: ({ status: word, late }) => `${stateWord(word)}${late ? ` (${t('late')})` : ''}`,
    },
    { name: t('sent'), cell: ({ created_at }) => <Age at={created_at} /> },
    { name: t('by'), cell: ({ created_by }) => personText(created_by) },
    { name: t('answer'), cell: ({ error }) => (error === null ? '–' : <code>{error.code}</code>) },
  ]
  return (
    <Page
      title={t('commands')}
      actions={
        <>
          <Button icon="refresh-cw" onClick={feed.reload}>
            {t('refresh')}
          </Button>
          <Button kind="primary" icon="send" onClick={() => navigate(pathOf('compose'))}>
            {t('newBroadcast')}
          </Button>
        </>
      }
    >
      <AreaTabs of="commands" />
      <div class="filters">
        <Field label={t('command')} value={command} onValue={commandValue.set} spellcheck={false} />
        <Field label={t('group')} value={group} onValue={groupValue.set} spellcheck={false} />
        <TimeFilter />
        <ChoiceChips
          label={t('status')}
          options={COMMAND_STATUSES.map((word) => [word, stateWord(word)] as const)}
          value={statusValue}
        />
      </div>
      <FeedArea
        feed={feed}
        empty={
          Object.keys(filters).length > 0 ? (
            <NoneFits title={t('match')} names={['command', 'group', 'from', 'to', 'status']} />
          ) : (
            <Empty title={t('none')} hint={t('noneMore')} />
          )
        }
      >
        {(entries) => (
          <DataTable
            caption={t('commands')}
            columns={columns}
            rows={entries}
            idOf={({ command_id }) => command_id}
          />
        )}
      </FeedArea>
    </Page>
  )
}
