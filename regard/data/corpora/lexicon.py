"""The words of the built-in parallel corpus, English with French and Spanish, and the endings that they take.

The tables are written the way a dictionary is. A noun's article gives its gender (`une`, `una`: feminine), a slash
gives an irregular plural (`man/men`), a comma an irregular feminine (`blanc,blanche`); `_` stands for the noun that an
adjective comes before or after; `*` marks a Spanish adjective that goes with *estar*. In names and set expressions
`zone.3` renders the fourth English word, and a word without a number renders all of them. Plurals and conjugations
follow rules; what departs from them is listed.
"""

NOUNS = {
    "person": """
        man/men: un homme = un hombre; woman/women: une femme = una mujer; boy: un garçon = un chico
        girl: une fille = una chica; child/children: un enfant = un niño; teacher: un professeur = un profesor
        student: un étudiant = un estudiante; doctor: un médecin = un médico; friend: un ami = un amigo
        neighbour: un voisin = un vecino; writer: un écrivain = un escritor; artist: un artiste = un artista
        lawyer: un avocat = un abogado; farmer: un agriculteur = un agricultor; soldier: un soldat = un soldado
        minister: un ministre = un ministro; king: un roi = un rey; queen: une reine = una reina
        mother: une mère = una madre; father: un père = un padre; sister: une sœur = una hermana
        brother: un frère = un hermano; daughter: une fille = una hija; hero/heroes: un héros = un héroe
        actress: une actrice = una actriz; nurse: une infirmière = una enfermera; judge: un juge = un juez
        engineer: un ingénieur = un ingeniero; tourist: un touriste = un turista""",
    "animal": """
        dog: un chien = un perro; cat: un chat = un gato; horse: un cheval = un caballo; bird: un oiseau = un pájaro
        cow: une vache = una vaca; bear: un ours = un oso; rabbit: un lapin = un conejo; hen: une poule = una gallina
        duck: un canard = un pato; wolf/wolves: un loup = un lobo""",
    "document": """
        book: un livre = un libro; letter: une lettre = una carta; agreement: un accord = un acuerdo
        treaty: un traité = un tratado; contract: un contrat = un contrato; report: un rapport = un informe
        newspaper: un journal = un periódico; article: un article = un artículo; law: une loi = una ley
        story: une histoire = una historia; document: un document = un documento; plan: un plan = un plan
        message: un message = un mensaje; answer: une réponse = una respuesta; poem: un poème = un poema
        project: un projet = un proyecto; novel: un roman = una novela; song: une chanson = una canción
        idea: une idée = una idea""",
    "thing": """
        car: une voiture = un coche; table: une table = una mesa; chair: une chaise = una silla
        key: une clé = una llave; bag: un sac = una bolsa; box: une boîte = una caja; clock: une horloge = un reloj
        lamp: une lampe = una lámpara; coat: un manteau = un abrigo; hat: un chapeau = un sombrero
        shirt: une chemise = una camisa; shoe: une chaussure = un zapato; knife/knives: un couteau = un cuchillo
        flower: une fleur = una flor; picture: une image = una imagen/imágenes; painting: un tableau = un cuadro
        bicycle: un vélo = una bicicleta; boat: un bateau = un barco; telephone: un téléphone = un teléfono
        computer: un ordinateur = un ordenador; mirror: un miroir = un espejo; gift: un cadeau = un regalo
        umbrella: un parapluie = un paraguas/paraguas; tool: un outil = una herramienta""",
    "place": """
        house: une maison = una casa; garden: un jardin = un jardín; city: une ville = una ciudad
        village: un village = un pueblo; school: une école = una escuela; hospital: un hôpital = un hospital
        hotel: un hôtel = un hotel; church: une église = una iglesia; museum: un musée = un museo
        market: un marché = un mercado; park: un parc = un parque; forest: une forêt = un bosque
        street: une rue = una calle; office: un bureau = una oficina; shop: un magasin = una tienda
        university: une université = una universidad; library: une bibliothèque = una biblioteca
        station: une gare = una estación; factory: une usine = una fábrica; castle: un château = un castillo
        kitchen: une cuisine = una cocina; room: une chambre = una habitación; theatre: un théâtre = un teatro""",
    "food": """
        apple: une pomme = una manzana; orange: une orange = una naranja; egg: un œuf = un huevo
        cake: un gâteau = un pastel; tomato/tomatoes: une tomate = un tomate; pear: une poire = una pera
        onion: un oignon = una cebolla; lemon: un citron = un limón; cherry: une cerise = una cereza
        bread/: un pain = un pan; cheese/: un fromage = un queso; meat/: une viande = una carne
        rice/: un riz = un arroz; butter/: un beurre = una mantequilla; honey/: un miel = una miel
        soup/: une soupe = una sopa; chocolate/: un chocolat = un chocolate; fish/: un poisson = un pescado""",
    "drink": """
        milk/: un lait = una leche; wine/: un vin = un vino; coffee/: un café = un café; tea/: un thé = un té
        beer/: une bière = una cerveza; oil/: une huile = un aceite; lemonade/: une limonade = una limonada""",
}  # an empty plural (`bread/`) marks what is not counted

# Which adjectives suit which nouns. English puts those of QUALITIES before those of TYPES.
QUALITIES = {
    "person animal document thing place food": """
        new: nouveau,nouvelle _ = nuevo _; good: bon,bonne _ = buen/buenos,buena _; big: grand _ = _ grande
        small: petit _ = _ pequeño; beautiful: beau,belle _ = _ hermoso; great: grand _ = gran/grandes,gran/grandes _
        strange: _ étrange = _ extraño""",
    "person animal": """
        young: jeune _ = _ joven/jóvenes,joven/jóvenes; tired: _ fatigué = _ cansado *
        happy: _ heureux,heureuse = _ feliz *; sad: _ triste = _ triste *; strong: _ fort = _ fuerte
        intelligent: _ intelligent = _ inteligente; dangerous: _ dangereux,dangereuse = _ peligroso
        poor: _ pauvre = _ pobre""",
    "person": """
        rich: _ riche = _ rico; kind: _ gentil,gentille = _ amable; honest: _ honnête = _ honesto
        famous: _ célèbre = _ famoso; sick: _ malade = _ enfermo *""",
    "document thing place": """
        important: _ important = _ importante; interesting: _ intéressant = _ interesante
        useful: _ utile = _ útil; pretty: joli _ = _ bonito; long: long,longue _ = _ largo""",
    "thing place": """
        expensive: _ cher,chère = _ caro; dirty: _ sale = _ sucio *; empty: _ vide = _ vacío *
        clean: _ propre = _ limpio *""",
    "food drink": """
        delicious: _ délicieux,délicieuse = _ delicioso; cold: _ froid = _ frío *; sweet: _ sucré = _ dulce
        fresh: _ frais,fraîche = _ fresco *""",
}
TYPES = {
    "person animal document thing place food drink": """
        French: _ français = _ francés; Spanish: _ espagnol = _ español,española; German: _ allemand = _ alemán
        Italian: _ italien,italienne = _ italiano; European: _ européen,européenne = _ europeo
        American: _ américain = _ americano""",
    "animal thing place": """
        red: _ rouge = _ rojo; white: _ blanc,blanche = _ blanco; black: _ noir = _ negro; green: _ vert = _ verde
        blue: _ bleu = _ azul; yellow: _ jaune = _ amarillo; grey: _ gris = _ gris""",
    "document": """
        political: _ politique = _ político; international: _ international = _ internacional
        economic: _ économique = _ económico; national: _ national = _ nacional""",
    "place": "public: _ public,publique = _ público; modern: _ moderne = _ moderno",
}

# base, past, participle and -ing form where irregular: French = Spanish: the kinds of object, then
# gives: also takes "to somebody"; official: a country may do it; stative: has no progressive and no passive
VERBS = """
    eat ate eaten: manger = comer: food                       cook: cuisiner = cocinar: food
    buy bought bought: acheter = comprar: food drink thing    sell sold sold: vendre = vender: thing place gives
    drink drank drunk: boire = beber: drink                   prepare: préparer = preparar: food drink document
    write wrote written: écrire = escribir: document          sign: signer = firmar: document official
    publish: publier = publicar: document official            translate: traduire = traducir: document
    study: étudier = estudiar: document                       accept: accepter = aceptar: document official
    reject: rejeter = rechazar: document official             present: présenter = presentar: document gives official
    receive: recevoir = recibir: document thing official      send sent sent: envoyer = enviar: document thing gives
    explain: expliquer = explicar: document gives             give gave given: donner = dar: document thing gives
    show showed shown: montrer = mostrar: document thing gives
    offer: offrir = ofrecer: drink thing gives official       open: ouvrir = abrir: place
    close: fermer = cerrar: place official                    lose lost lost: perdre = perder: document thing
    find found found: trouver = encontrar: person animal document thing
    keep kept kept: garder = guardar: document thing          admire: admirer = admirar: person document place
    forget forgot forgotten forgetting: oublier = olvidar: person document thing
    see saw seen seeing: voir = ver: person animal thing place
    help: aider = ayudar: person official                     invite: inviter = invitar: person official
    carry: porter = llevar: thing                             call: appeler = llamar: person
    greet: saluer = saludar: person                           know knew known: connaître = conocer: person place stative
    meet met met: rencontrer = conocer: person                defend: défendre = defender: person place official
    follow: suivre = seguir: person                           visit: visiter = visitar: place
    wash: laver = lavar: animal thing                         clean: nettoyer = limpiar: thing place
    build built built: construire = construir: place official
    paint: peindre = pintar: animal thing place               leave left left: quitter = dejar: person place
    describe: décrire = describir: person document thing      draw drew drawn: dessiner = dibujar: animal thing place
    repair: réparer = reparar: thing                          use: utiliser = usar: document thing
    break broke broken: casser = romper: thing                take took taken: prendre = tomar: thing
    choose chose chosen: choisir = elegir: person thing       steal stole stolen: voler = robar: animal thing
    hide hid hidden: cacher = esconder: animal thing          have had had: avoir = tener: animal thing stative
    work: travailler = trabajar:          sing sang sung: chanter = cantar:       dance: danser = bailar:
    sleep slept slept: dormir = dormir:   swim swam swum swimming: nager = nadar:  walk: marcher = caminar:
    smoke: fumer = fumar:                 speak spoke spoken: parler = hablar:    wait: attendre = esperar:
    dream: rêver = soñar:                 run ran run running: courir = correr:   shout: crier = gritar:
    travel travelled travelled travelling: voyager = viajar:                      cry: pleurer = llorar:
    say said said: dire = decir: that     think thought thought: penser = pensar: that
    believe: croire = creer: that"""

# present (I, you, he, we, they), future stem, participle
FRENCH_VERBS = {
    "acheter": "achète achètes achète achetons achètent achèter acheté",
    "appeler": "appelle appelles appelle appelons appellent appeller appelé",
    "avoir": "ai as a avons ont aur eu",
    "boire": "bois bois boit buvons boivent boir bu",
    "connaître": "connais connais connaît connaissons connaissent connaîtr connu",
    "construire": "construis construis construit construisons construisent construir construit",
    "courir": "cours cours court courons courent courr couru",
    "croire": "crois crois croit croyons croient croir cru",
    "décrire": "décris décris décrit décrivons décrivent décrir décrit",
    "dire": "dis dis dit disons disent dir dit",
    "dormir": "dors dors dort dormons dorment dormir dormi",
    "écrire": "écris écris écrit écrivons écrivent écrir écrit",
    "envoyer": "envoie envoies envoie envoyons envoient enverr envoyé",
    "être": "suis es est sommes sont ser été",
    "nettoyer": "nettoie nettoies nettoie nettoyons nettoient nettoier nettoyé",
    "offrir": "offre offres offre offrons offrent offrir offert",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrent ouvrir ouvert",
    "peindre": "peins peins peint peignons peignent peindr peint",
    "prendre": "prends prends prend prenons prennent prendr pris",
    "recevoir": "reçois reçois reçoit recevons reçoivent recevr reçu",
    "rejeter": "rejette rejettes rejette rejetons rejettent rejetter rejeté",
    "suivre": "suis suis suit suivons suivent suivr suivi",
    "traduire": "traduis traduis traduit traduisons traduisent traduir traduit",
    "voir": "vois vois voit voyons voient verr vu",
}
# any of: present, past, future stem, gerund, participle, each after its name
SPANISH_VERBS = {
    "abrir": "participle abierto",
    "cerrar": "present cierro cierras cierra cerramos cierran",
    "conocer": "present conozco conoces conoce conocemos conocen",
    "construir": "present construyo construyes construye construimos construyen "
    "past construí construiste construyó construimos construyeron gerund construyendo",
    "dar": "present doy das da damos dan past di diste dio dimos dieron",
    "decir": "present digo dices dice decimos dicen",
    "defender": "present defiendo defiendes defiende defendemos defienden",
    "describir": "participle descrito",
    "dormir": "present duermo duermes duerme dormimos duermen "
    "past dormí dormiste durmió dormimos durmieron gerund durmiendo",
    "elegir": "present elijo eliges elige elegimos eligen "
    "past elegí elegiste eligió elegimos eligieron gerund eligiendo",
    "encontrar": "present encuentro encuentras encuentra encontramos encuentran",
    "enviar": "present envío envías envía enviamos envían",
    "escribir": "participle escrito",
    "estar": "present estoy estás está estamos están past estaba estabas estaba estábamos estaban",
    "haber": "present he has ha hemos han",
    "mostrar": "present muestro muestras muestra mostramos muestran",
    "ofrecer": "present ofrezco ofreces ofrece ofrecemos ofrecen",
    "pensar": "present pienso piensas piensa pensamos piensan",
    "perder": "present pierdo pierdes pierde perdemos pierden",
    "romper": "participle roto",
    "seguir": "present sigo sigues sigue seguimos siguen "
    "past seguí seguiste siguió seguimos siguieron gerund siguiendo",
    "ser": "present soy eres es somos son past era eras era éramos eran",
    "soñar": "present sueño sueñas sueña soñamos sueñan",
    "tener": "present tengo tienes tiene tenemos tienen past tuve tuviste tuvo tuvimos tuvieron future tendr",
    "traducir": "present traduzco traduces traduce traducimos traducen "
    "past traduje tradujiste tradujo tradujimos tradujeron",
    "ver": "present veo ves ve vemos ven past vi viste vio vimos vieron participle visto",
}

# masculine, feminine, then the two plurals; "-" where there is none
DETERMINERS = """
    the/the: le la les les = el la los las             a/-: un une - - = un una - -
    my/my: mon ma mes mes = mi mi mis mis              your/your: ton ta tes tes = tu tu tus tus
    his/his: son sa ses ses = su su sus sus            her/her: son sa ses ses = su su sus sus
    our/our: notre notre nos nos = nuestro nuestra nuestros nuestras
    their/their: leur leur leurs leurs = su su sus sus
    this/these: ce cette ces ces = este esta estos estas
    that/those: ce cette ces ces = ese esa esos esas   each/-: chaque chaque - - = cada cada - -
    -/two: - - deux deux = - - dos dos                 -/three: - - trois trois = - - tres tres
    -/four: - - quatre quatre = - - cuatro cuatro      -/five: - - cinq cinq = - - cinco cinco
    -/six: - - six six = - - seis seis                 -/eight: - - huit huit = - - ocho ocho
    -/ten: - - dix dix = - - diez diez                 -/eleven: - - onze onze = - - once once"""
# English, French; the Romance person (I, you, he, we, they: 0 to 4) and gender. "you" is one person, not a stranger;
# "it" and "they" are masculine, as are "I" and "we". Spanish leaves them all out.
PRONOUNS = "I je 0 m; you tu 1 m; he il 2 m; she elle 2 f; it il 2 m; we nous 3 m; they ils 4 m"
GIVEN_NAMES = "Anna f; Bruno m; Clara f; Daniel m; David m; Emma f; Iris f; Laura f; Marco m; Omar m; Paul m; Sara f"
SURNAMES = "Alonso Costa Dubois Klein Martin Morel Rossi Silva Smith Vega Weber"
CITIES = """
    Athens: Athènes = Atenas; Berlin: Berlin = Berlín; Brussels: Bruxelles = Bruselas; Geneva: Genève = Ginebra
    Lisbon: Lisbonne = Lisboa; London: Londres = Londres; Madrid: Madrid = Madrid; Oslo: Oslo = Oslo
    Paris: Paris = París; Rome: Rome = Roma; Vienna: Vienne = Viena; Warsaw: Varsovie = Varsovia"""
COUNTRIES = """
    France: la France f = Francia f; Spain: la Espagne f = España f; Italy: la Italie f = Italia f
    Japan: le Japon m = Japón m; Canada: le Canada m = Canadá m; Iran: le Iran m = Irán m
    Germany: la Allemagne f = Alemania f; Portugal: le Portugal m = Portugal m
    Ireland: la Irlande f = Irlanda f; Brazil: le Brésil m = Brasil m
    the United States: les.0 États-Unis.12 mp = los.0 Estados.2 Unidos.1 mp
    the Netherlands: les.0 Pays-Bas.1 mp = los.0 Países.1 Bajos.1 mp"""
ORGANISATIONS = """
    the European Economic Area: la.0 zone.3 économique.2 européenne.1 f = el.0 Espacio.3 Económico.2 Europeo.1 m
    the European Union: la.0 Union.2 européenne.1 f = la.0 Unión.2 Europea.1 f
    the European Central Bank: la.0 Banque.3 centrale.2 européenne.1 f = el.0 Banco.3 Central.2 Europeo.1 m
    the United Nations: les.0 Nations.2 unies.1 fp = las.0 Naciones.2 Unidas.1 fp
    the World Bank: la.0 Banque.2 mondiale.1 f = el.0 Banco.2 Mundial.1 m
    the Red Cross: la.0 Croix-Rouge.12 f = la.0 Cruz.2 Roja.1 f
    the International Monetary Fund: le.0 Fonds.3 monétaire.2 international.1 m
        = el.0 Fondo.3 Monetario.2 Internacional.1 m
    the Council of Europe: le.0 Conseil.1 de.2 la.3 Europe.3 m = el.0 Consejo.1 de.2 Europa.3 m"""
MONTHS = """
    January: janvier = enero; February: février = febrero; March: mars = marzo; April: avril = abril
    May: mai = mayo; June: juin = junio; July: juillet = julio; August: août = agosto; September: septembre = septiembre
    October: octobre = octubre; November: novembre = noviembre; December: décembre = diciembre"""
PREPOSITIONS = """
    in: dans = en; on: sur = sobre; of: de = de; from: de = de; to: à = a; by: par = por; with: avec = con
    for: pour = para; without: sans = sin; near: près de = cerca de; behind: derrière = detrás de
    in front of: devant = delante de"""
CONJUNCTIONS = "and: et = y; but: mais = pero; or: ou = o; because: parce que = porque; if: si = si"
TIMES = {
    "present": "every day: chaque.0 jour.1 = cada.0 día.1; every summer: chaque.0 été.1 = cada.0 verano.1",
    "progressive": "now: maintenant.0 = ahora.0; this morning: ce.0 matin.1 = esta.0 mañana.1",
    "past": """
        yesterday: hier.0 = ayer.0; last year: la.1 année.1 dernière.0 = el.1 año.1 pasado.0
        last week: la.1 semaine.1 dernière.0 = la.1 semana.1 pasada.0""",
    "future": """
        tomorrow: demain.0 = mañana.0; next year: la.1 année.1 prochaine.0 = el.1 año.1 próximo.0
        next week: la.1 semaine.1 prochaine.0 = la.1 semana.1 próxima.0""",
}
