import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { errorText } from '../../../../../schemas/error-text.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'

const t = words({
  title: ['Deliveries', 'Was gesendet wurde'],
  event: ['About', 'Anlass'],
  tries: ['Attempts', 'Versuche'],
  last: ['Last answer', 'Letzte Antwort'],
  again: ['Send again', 'Noch einmal senden'],
  none: ['No deliveries yet.', 'Noch wurde nichts gesendet.'],
  failed: ['It could not be sent again: {reason}', 'Es konnte nicht erneut gesendet werden: {reason}'],
})

type Delivery = ReplyOf<Operations['listDeliveries']>['data'][number]

export function Deliveries({ channelId }: { readonly channelId: string }) {
  const answer = useAnswer(
    'listDeliveries',
    { channel_id: channelId, query: { page: pageValue.value } },
    { everyMs: 5000 },
  )
  const again = useWrite(async ({ delivery_id }: Delivery) => {
    try {
      await fleet.redeliver({ delivery_id })
      refreshAnswers('listDeliveries')
    } catch (error) {
      toast({ text: t('failed', { reason: errorText(error) }), isFailure: true })
    }
  })
  const columns: readonly Column<Delivery>[] = [
    { name: t('event'), cell: ({ event }) => event },
    {
      name: t('state'),
      cell: ({ state }) => (
        <span class={state === 'failed' || state === 'blocked' ? 'severity-critical' : undefined}>
          {state}
        </span>
      ),
    },
    { name: t('tries'), isNumber: true, cell: ({ attempts }) => attempts.length },
    {
      name: t('last'),
      cell: ({ attempts }) => attempts.at(-1)?.error_code ?? attempts.at(-1)?.status_code ?? '–',
    },
    { name: t('when'), cell: ({ created_at }) => <Age at={created_at} /> },
    {
      name: t('again'),
      cell: (delivery) => (
        <Button write={again} onClick={() => void again.run(delivery)}>
          {t('again')}
        </Button>
      ),
    },
  ]
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <AnswerTable
        answer={answer}
        empty={<p class="muted">{t('none')}</p>}
        caption={t('title')}
        columns={columns}
        idOf={({ delivery_id }) => delivery_id}
      />
    </section>
  )
}
