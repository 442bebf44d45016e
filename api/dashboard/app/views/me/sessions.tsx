// The logins of the person at the page: where each is, and its end.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'
import { browserText } from './browser-text.ts'

const t = words({
  title: ['Where you are logged in', 'Wo Sie angemeldet sind'],
  device: ['Browser or program', 'Browser oder Programm'],
  since: ['Since', 'Seit'],
  here: ['this one', 'diese hier'],
  end: ['End', 'Beenden'],
  others: ['End all others', 'Alle anderen beenden'],
  failed: ['Could not end it: {reason}', 'Das ließ sich nicht beenden: {reason}'],
})

type Session = ReplyOf<Operations['listSessions']>['data'][number]

export function Sessions() {
  const answer = useAnswer('listSessions', {})
  const end = (...sessions: readonly Session[]) =>
    Promise.all(sessions.map(({ session_id }) => fleet.endSession({ session_id }))).then(
      () => refreshAnswers('listSessions'),
      (error: Error) => toast({ text: t('failed', { reason: error.message }), isFailure: true }),
    )
  const columns: readonly Column<Session>[] = [
    {
      name: t('device'),
      cell: ({ user_agent }) =>
        user_agent === null ? '–' : <span title={plainText(user_agent)}>{browserText(user_agent)}</span>,
    },
    { name: t('from'), cell: ({ ip }) => ip ?? '–' },
    { name: t('since'), cell: ({ created_at }) => <Age at={created_at} /> },
    { name: t('lastUsed'), cell: ({ last_used_at }) => <Age at={last_used_at} /> },
    {
      name: t('actions'),
      cell: (session) =>
        session.current ? t('here') : <Button onClick={() => void end(session)}>{t('end')}</Button>,
    },
  ]
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <AnswerArea answer={answer}>
        {({ data }) => {
          const others = data.filter(({ current }) => !current)
          return (
            <>
              <DataTable
                caption={t('title')}
                columns={columns}
                rows={data}
                idOf={({ session_id }) => session_id}
              />
              {others.length > 1 && (
                <p class="pager">
                  <Button onClick={() => void end(...others)}>{t('others')}</Button>
                </p>
              )}
            </>
          )
        }}
      </AnswerArea>
    </section>
  )
}
