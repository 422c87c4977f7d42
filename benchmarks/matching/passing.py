"""What people say in a conversation without asking for a skill: sentences by an author of the project."""

SAID_IN_PASSING = tuple(
    line.strip()
    for line in """
    yes please
    go on
    try again
    continue
    do it
    yes, do that
    no, the other one
    show me more
    make it shorter
    why?
    and in German?
    what about the second one?
    looks good
    that is wrong
    undo that
    what does that mean?
    can you explain?
    explain it again
    where is it?
    which one is better?
    how long will it take?
    thank you, that works
    ok next
    next step please
    stop
    wait
    do the same for the other file
    use the first option
    the second option
    save it
    send it
    open it
    print the result
    show the result
    give me the list again
    sort it by date
    sort them by name
    in a table please
    as bullet points
    shorter please
    more detail
    add an example
    give me an example
    what is the weather today?
    what time is it?
    who are you?
    what can you do?
    how are you?
    tell me a joke
    good morning
    good night
    see you tomorrow
    I don't understand
    I agree
    maybe later
    is that correct?
    are you sure?
    check again
    what changed?
    what happened?
    did it work?
    it failed
    it still fails
    same error again
    fix it
    fix the error
    run it again
    run it
    delete it
    rename it
    remove the last line
    change the title
    change the color to blue
    make it bigger
    translate it
    in French please
    summarize it
    what did I say before?
    repeat that
    let me think
    never mind
    forget it
    start over
    compare both
    what's the difference?
    which of them is cheaper?
    how much is it?
    how many are there?
    count them
    list all of them
    find the biggest one
    what is the capital of France?
    when is Easter?
    call me Bob
    my name is Anna
    I am done
    all good
    great work
    cool
    hm
    """.strip().splitlines()
)
