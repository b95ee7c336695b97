const en = {
  title: 'Settings',
  name: 'Name of the shop',
  timezone: 'Time zone',
  timezoneHint: 'Pages and emails show times in it.',
  homeZones: 'United States',
  otherZones: 'Other time zones',
  currency: 'Currency',
  currencyHint: 'It cannot be changed once the shop has deals.',
  savedMeanwhile: (value: string) => `Saved by somebody else meanwhile: ${value}.`,
  save: 'Save',
  secondFactor: 'Second step at sign-in',
  navigation: { label: 'Settings', purpose: 'Name, time zone and currency of the shop.' },
  notices: {
    'settings-saved': 'The settings were saved.',
    'factor-policy-saved': 'The second step is set.',
  },
}

const es: typeof en = {
  title: 'Ajustes',
  name: 'Nombre de la tienda',
  timezone: 'Zona horaria',
  timezoneHint: 'Las páginas y los correos muestran las horas en ella.',
  homeZones: 'Estados Unidos',
  otherZones: 'Otras zonas horarias',
  currency: 'Moneda',
  currencyHint: 'No se puede cambiar cuando la tienda ya tiene pedidos.',
  savedMeanwhile: (value) => `Otra persona guardó mientras tanto: ${value}.`,
  save: 'Guardar',
  secondFactor: 'Segundo paso al iniciar sesión',
  navigation: { label: 'Ajustes', purpose: 'Nombre, zona horaria y moneda de la tienda.' },
  notices: {
    'settings-saved': 'Se guardaron los ajustes.',
    'factor-policy-saved': 'El segundo paso quedó fijado.',
  },
}

export const settings = { en, es }
