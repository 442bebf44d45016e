import { useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { instant } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { NewProvisioningKey } from './new-provisioning-key.tsx'
import { WaitingDevices } from './waiting-devices.tsx'

const t = words({
  title: ['Provisioning keys', 'Anlernschlüssel'],
  intro: [
    'Devices register themselves with such a key: each one asks once, with its own id, and gets its token.',
    'Mit einem solchen Schlüssel melden sich Geräte selbst an: Jedes fragt einmal, mit seiner eigenen Kennung, und bekommt sein Token.',
  ],
  none: ['none', 'keine'],
  any: ['any', 'beliebig'],
  places: ['{taken} of {limit}', '{taken} von {limit}'],
  waiting: ['Waiting', 'Warten'],
  decide: ['Decide ({n})', 'Entscheiden ({n})'],
  nobody: ['none', 'keins'],
  remove: ['Revoke', 'Widerrufen'],
  removeText: [
    '{name} cannot register devices any more. Those already registered keep their tokens.',
    '{name} meldet ab jetzt keine Geräte mehr an. Was damit angemeldet wurde, bleibt, auch mit seinem Token.',
  ],
  empty: ['No provisioning keys', 'Es gibt keinen Anlernschlüssel'],
})

type Key = ReplyOf<Operations['listProvisioningKeys']>['data'][number]

export function ProvisioningKeys() {
  const answer = useAnswer('listProvisioningKeys', { query: { page: pageValue.value } })
  const [isNew, setNew] = useState(false)
  const [looking, setLooking] = useState<Key | undefined>(undefined)
  const columns: readonly Column<Key>[] = [
    { name: t('name'), cell: ({ name }) => plainText(name) },
    { name: t('type'), cell: ({ type }) => type },
    { name: t('group'), cell: ({ group }) => group ?? t('none') },
    { name: t('deviceIds'), cell: ({ id_pattern }) => id_pattern ?? t('any') },
    {
      name: t('devices'),
      cell: ({ taken, limit }) => t('places', { taken, limit }),
    },
    {
      name: t('waiting'),
      cell: (key) =>
        key.pending === 0 ? (
          t('nobody')
        ) : (
          <Button onClick={() => setLooking(key)}>{t('decide', { n: key.pending })}</Button>
        ),
    },
    { name: t('ends'), cell: ({ expires_at }) => instant(Date.parse(expires_at), { timeStyle: 'short' }) },
    {
      name: t('actions'),
      cell: ({ id, name }) => (
        <ConfirmButton
          icon="trash-2"
          label={t('remove')}
          action={t('remove')}
          onConfirm={async () => {
            await fleet.deleteProvisioningKey({ provisioning_key_id: id })
            refreshAnswers('listProvisioningKeys')
          }}
        >
          <p>{t('removeText', { name: plainText(name) })}</p>
        </ConfirmButton>
      ),
    },
  ]
  return (
    <>
      <p>{t('intro')}</p>
      <p>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>
          {t('newKey')}
        </Button>
      </p>
      <AnswerTable
        answer={answer}
        empty={<Empty title={t('empty')} />}
        caption={t('title')}
        columns={columns}
        idOf={({ id }) => id}
      />
      {isNew && <NewProvisioningKey onClose={() => setNew(false)} />}
      {looking !== undefined && <WaitingDevices of={looking} onClose={() => setLooking(undefined)} />}
    </>
  )
}
