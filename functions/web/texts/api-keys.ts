import type { About } from '#web/texts/notice-text.ts'

/** What the navigation, notices and refusals say. The texts of the pages are in key-pages.ts, which a start does not read. */
const en = {
  chooseOne: 'Choose what the key may do.',
  notGiven: 'The key cannot get one of these. Choose again.',
  navigation: { label: 'API keys', purpose: 'Let your own programs work with the data of the shop.' },
  notices: {
    'key-renamed': ({ key }: About) => `The key is called ${key} now.`,
    'key-revoked': ({ key }: About) => `The key ${key} was revoked. Its next request is refused.`,
    'key-created-before': ({ key }: About) =>
      `The key ${key} was created by your first press, which showed its secret. If you did not copy it, make a new secret here.`,
    'key-rotated-before': ({ key }: About) =>
      `The key ${key} has a new secret already, which was shown once. If you did not copy it, make another here.`,
  },
}

const es: typeof en = {
  chooseOne: 'Elija lo que puede hacer la clave.',
  notGiven: 'La clave no puede recibir uno de estos permisos. Elija de nuevo.',
  navigation: { label: 'Claves de API', purpose: 'Permita que sus programas trabajen con los datos de la tienda.' },
  notices: {
    'key-renamed': ({ key }) => `Ahora la clave se llama ${key}.`,
    'key-revoked': ({ key }) => `Se revocó la clave ${key}. Se rechaza su próxima solicitud.`,
    'key-created-before': ({ key }) =>
      `La clave ${key} se creó al pulsar por primera vez, y entonces se mostró su secreto. Si no lo copió, cree aquí un secreto nuevo.`,
    'key-rotated-before': ({ key }) =>
      `La clave ${key} ya tiene un secreto nuevo, que se mostró una vez. Si no lo copió, cree aquí otro.`,
  },
}

export const apiKeys = { en, es }
